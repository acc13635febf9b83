import { Client, type ClientBase, type QueryConfig, type QueryResult } from 'pg';
import type { PostgresAddress } from './postgres-address.ts';
import { endsSession, Unfit } from './postgres-errors.ts';
import { type SessionFacts, sessionProblem } from './postgres-fitness.ts';

const BIGINT = 20;

/** How long a statement, and a wait for a lock within one, may take; 0 for ever. */
export interface Limits {
  readonly statementMs: number;
  readonly lockMs: number;
  /** How long a transaction lasts whose process says nothing: it is frozen, and others wait for its locks. */
  readonly idleMs: number;
}

/** Another process leads within 10 s of the moment when this one froze, so what it holds is free before. */
export const USUAL: Limits = { statementMs: 30_000, lockMs: 10_000, idleMs: 5_000 };

const FACTS = `
  current_setting('server_version_num')::int as version, current_setting('synchronous_commit') as synchronous_commit,
  getdatabaseencoding() as encoding, pg_is_in_recovery() as recovering,
  current_setting('transaction_read_only') as read_only`;
const LIMITS = `
  set_config('statement_timeout', $1, false), set_config('lock_timeout', $2, false),
  set_config('idle_in_transaction_session_timeout', $3, false),
  set_config('default_transaction_isolation', 'read committed', false)`;

const limitTexts = ({ statementMs, lockMs, idleMs }: Limits): string[] =>
  [statementMs, lockMs, idleMs].map(String);

/** Our times and counts are `bigint`, and numbers hold them exactly. */
const readNumbers = (client: ClientBase): void => client.setTypeParser(BIGINT, Number);

/** Makes a connection fit for reading, and for nothing else. */
export async function prepareReading(client: ClientBase): Promise<void> {
  readNumbers(client);
  await client.query(
    `select set_config('default_transaction_read_only', 'on', false), ${LIMITS}`,
    limitTexts(USUAL),
  );
}

/** A connection that writes. */
export interface Session {
  /** Statements asked for together travel together; they run in the order of asking. */
  query(statement: QueryConfig): Promise<QueryResult>;
  /** True once the connection is of no more use. */
  isOver(): boolean;
  end(): Promise<void>;
}

/** Connects. Rejects with `pg`'s own error, or with `Unfit` when what was promised could be lost there. */
export async function openSession({ config }: PostgresAddress, limits: Limits): Promise<Session> {
  const client = new Client({ ...config, pipeline: true });
  let over = false;
  // Without a listener a connection that is lost while idle would end the process.
  client.on('error', () => {
    over = true;
  });
  client.on('end', () => {
    over = true;
  });
  try {
    await client.connect();
    readNumbers(client);
    const { rows } = await client.query<SessionFacts>(`select ${FACTS}, ${LIMITS}`, limitTexts(limits));
    const problem = rows[0] && sessionProblem(rows[0]);
    if (problem !== undefined) throw new Unfit(problem);
  } catch (error) {
    await client.end().catch(() => {});
    throw error;
  }
  return {
    async query(statement) {
      try {
        return await client.query(statement);
      } catch (error) {
        if (endsSession(error)) over = true;
        throw error;
      }
    },
    isOver: () => over,
    end: () => client.end(),
  };
}
