import { randomUUID } from 'node:crypto';
import { Client, type ClientBase, type QueryConfig, type QueryResult } from 'pg';
import type { PostgresAddress } from './address.ts';
import { breaksSession, UnsuitableServer } from './errors.ts';

const BIGINT = 20;

/** How long a statement, and a wait for a lock within one, may take; 0 for ever. */
export interface SessionLimits {
  readonly statementMs: number;
  readonly lockMs: number;
  /** How long a transaction may stay idle: its process is frozen then, and others wait for its locks. */
  readonly idleMs: number;
}

/** Another process leads within 10 s of the moment when this one froze, so what it holds is free before. */
export const DEFAULT_LIMITS: SessionLimits = { statementMs: 30_000, lockMs: 10_000, idleMs: 5_000 };

const SELECT_SETTINGS = `
  current_setting('server_version_num')::int as version, current_setting('synchronous_commit') as synchronous_commit,
  getdatabaseencoding() as encoding, pg_is_in_recovery() as recovering,
  current_setting('transaction_read_only') as read_only`;
const SET_LIMITS = `
  set_config('statement_timeout', $1, false), set_config('lock_timeout', $2, false),
  set_config('idle_in_transaction_session_timeout', $3, false),
  set_config('default_transaction_isolation', 'read committed', false)`;

const limitTexts = ({ statementMs, lockMs, idleMs }: SessionLimits): string[] =>
  [statementMs, lockMs, idleMs].map(String);

/** Our times and counts are `bigint`, and numbers hold them exactly. */
const readNumbers = (client: ClientBase): void => client.setTypeParser(BIGINT, Number);

/** Makes a connection fit for reading, and for nothing else. */
export async function prepareReading(client: ClientBase): Promise<void> {
  readNumbers(client);
  await client.query(
    `select set_config('default_transaction_read_only', 'on', false), ${SET_LIMITS}`,
    limitTexts(DEFAULT_LIMITS),
  );
}

/** A connection that writes. */
export interface PostgresSession {
  /** Statements that are sent together share a round trip; they run in the order of the calls. */
  query(statement: QueryConfig): Promise<QueryResult>;
  /** True once the connection is of no more use. */
  isBroken(): boolean;
  end(): Promise<void>;
}

/** Connects. Rejects with `pg`'s own error, or with `Unfit` when what was promised could be lost there. */
export async function openSession(
  { config }: PostgresAddress,
  limits: SessionLimits,
): Promise<PostgresSession> {
  const client = new Client({ ...config, pipeline: true });
  let isBroken = false;
  // Without a listener a connection that is lost while idle would end the process.
  client.on('error', () => {
    isBroken = true;
  });
  client.on('end', () => {
    isBroken = true;
  });
  try {
    await client.connect();
    readNumbers(client);
    const { rows } = await client.query<ServerSettings>(
      `select ${SELECT_SETTINGS}, ${SET_LIMITS}`,
      limitTexts(limits),
    );
    const problem = rows[0] && sessionProblem(rows[0]);
    if (problem !== undefined) throw new UnsuitableServer(problem);
  } catch (error) {
    await client.end().catch(() => {});
    throw error;
  }
  return {
    async query(statement) {
      try {
        return await client.query(statement);
      } catch (error) {
        if (breaksSession(error)) isBroken = true;
        throw error;
      }
    },
    isBroken: () => isBroken,
    end: () => client.end(),
  };
}

/** Of two clients one is nearly always given what the other has just left; other clients may come in between. */
const ROUNDS = 3;

/** A setting that no server knows and no other client reads. */
const SETTING = 'headgate.session';

/**
 * Makes sure that a connection is a session of its own. A pooler that pools transactions lends the same session to
 * several of its clients in turn: locks and settings of a session would be those of anybody, so this comes before any of
 * them. Rejects with `UnsuitableServer` for such a pooler, and with `pg`'s own error for what cannot be reached.
 */
export async function assertOwnSessions({ config }: PostgresAddress): Promise<void> {
  const [one, other] = [new Client(config), new Client(config)];
  for (const client of [one, other]) client.on('error', () => {});
  try {
    await one.connect();
    await other.connect();
    for (let round = 0; round < ROUNDS; round++) {
      const mark = randomUUID();
      await one.query('select set_config($1, $2, false)', [SETTING, mark]);
      const isShared = (await markOf(other)) === mark;
      // Twice: of two sessions that are lent in turn, every second one is the same.
      const isKept = (await markOf(one)) === mark && (await markOf(one)) === mark;
      if (isShared || !isKept) throw new UnsuitableServer(POOLED);
    }
  } finally {
    await Promise.all([one, other].map(client => client.end().catch(() => {})));
  }
}

async function markOf(client: Client): Promise<unknown> {
  const { rows } = await client.query('select current_setting($1, true) as mark', [SETTING]);
  return rows[0]?.mark;
}

const POOLED =
  'is behind a pooler that pools transactions, as PgBouncer does with pool_mode=transaction, so that locks and settings ' +
  'of a session would be lost; set pool_mode=session there for this database, or let storage.url lead to the server itself';

/** Settings of a server and of one session. */
export interface ServerSettings {
  /** As in `server_version_num`: 150020 is 15.20. */
  readonly version: number;
  readonly synchronous_commit: string;
  readonly encoding: string;
  readonly recovering: boolean;
  readonly read_only: string;
}

/** The oldest that is tried with: `xid8`-free `txid_status` and everything the migrations use. */
const MIN_MAJOR_VERSION = 12;

/**
 * Why a session must not be written through, with the remedy, or nothing when it may. Of the values of
 * `synchronous_commit` all but `off` wait for this server's own disk (PostgreSQL manual, 20.5.1).
 */
export function sessionProblem(settings: ServerSettings): string | undefined {
  const { version, synchronous_commit: synchronous, encoding } = settings;
  if (version < MIN_MAJOR_VERSION * 10_000) {
    return `is of PostgreSQL ${Math.floor(version / 10_000)}, which is too old; upgrade the server to ${MIN_MAJOR_VERSION} or later`;
  }
  if (settings.recovering || settings.read_only === 'on') {
    return 'is read-only; let storage.url lead to the primary server, and set default_transaction_read_only to off';
  }
  if (encoding !== 'UTF8') {
    return `is encoded in ${encoding}, which cannot hold every text; create it with createdb --encoding=UTF8 --template=template0`;
  }
  if (synchronous === 'off') {
    return 'would lose writes: synchronous_commit is off; set it to on for the server, the database and the user';
  }
  return undefined;
}
