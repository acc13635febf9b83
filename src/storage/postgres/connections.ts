import { Pool, type QueryConfig } from 'pg';
import type { Clock } from '../../lib/clock.ts';
import { AppError } from '../../lib/errors.ts';
import type { PostgresAddress } from './address.ts';
import type { BorrowedConnection } from './dialect.ts';
import { breaksSession } from './errors.ts';
import { type PostgresSession, prepareReading } from './session.ts';

/** How long the status of a commit is polled whose answer was lost. */
const STATUS_DEADLINE_MS = 10_000;
const STATUS_POLL_MS = 200;

/** The one session that writes, connected anew whenever it was lost. It has one user at a time: a mutex sees to that. */
export interface WriterConnection {
  session(): Promise<PostgresSession>;
  /**
   * Commits the transaction `id` of the session. When the connection is lost over it, asks the server over another
   * for its status, since the commit may well have reached the disk.
   */
  commit(session: PostgresSession, id: string): Promise<void>;
  close(): Promise<void>;
}

export interface WriterConnectionOptions {
  readonly open: () => Promise<PostgresSession>;
  readonly explain: (error: unknown) => AppError;
  readonly clock: Clock;
}

export function createWriterConnection({ open, explain, clock }: WriterConnectionOptions): WriterConnection {
  const backoff = createReconnectBackoff(clock);
  let current: PostgresSession | undefined;
  let closed = false;

  async function session(): Promise<PostgresSession> {
    if (closed) throw new AppError('unavailable', 'the storage is closed');
    if (current !== undefined && !current.isBroken()) return current;
    await discard();
    backoff.assertReady();
    try {
      current = await open();
      backoff.passed();
      return current;
    } catch (error) {
      const explained = explain(error);
      backoff.failed(explained);
      throw explained;
    }
  }

  async function discard(): Promise<void> {
    const lost = current;
    current = undefined;
    // A dead network never acknowledges the end.
    void lost?.end().catch(() => {});
  }

  /** Answers undefined while the server cannot be reached or has not decided. */
  async function transactionStatus(id: string): Promise<string | undefined> {
    try {
      const { rows } = await (await session()).query({
        text: 'select txid_status($1::bigint) as status',
        values: [id],
      });
      return rows[0]?.status === 'in progress' ? undefined : String(rows[0]?.status);
    } catch {
      return undefined;
    }
  }

  async function isCommitted(id: string): Promise<boolean> {
    const deadline = clock.monotonic() + STATUS_DEADLINE_MS;
    for (;;) {
      const status = await transactionStatus(id);
      if (status === 'committed' || status === 'aborted') return status === 'committed';
      if (status !== undefined || clock.monotonic() >= deadline) {
        throw new AppError(
          'unavailable',
          'the connection was lost over a commit, and the server does not say whether it was written',
          { retryAfterSeconds: 10 },
        );
      }
      await clock.sleep(STATUS_POLL_MS);
    }
  }

  return {
    session,
    async commit(at, id) {
      let command: string;
      try {
        ({ command } = await at.query({ text: 'commit' }));
      } catch (error) {
        if (at.isBroken() && (await isCommitted(id))) return;
        throw error;
      }
      if (command === 'ROLLBACK') {
        throw new AppError('unavailable', 'the database has rolled a change back midway; try again', {
          retryAfterSeconds: 10,
        });
      }
    },
    async close() {
      closed = true;
      await current?.end().catch(() => {});
    },
  };
}

/** Every process that runs a transaction or migrates holds it meanwhile; the number has no other meaning. */
export const ADVISORY_LOCK = 4_815_162_342;

const MAX_READERS = 6;
const MAX_WAITING_READS = 20_000;
const IDLE_MS = 60_000;

/** Lends the writer. Its transactions are one at a time over all processes of a database, as on SQLite. */
export async function borrowWriter(connection: WriterConnection): Promise<BorrowedConnection> {
  const session: PostgresSession = await connection.session();
  let id = '';
  return {
    query: statement => session.query(statement),
    async begin() {
      await session.query({ text: 'begin' });
      await session.query({ text: 'select pg_advisory_xact_lock($1)', values: [ADVISORY_LOCK] });
      id = (await session.query(TRANSACTION_ID)).rows[0]?.id;
    },
    commit: () => connection.commit(session, id),
    async rollback() {
      if (!session.isBroken()) await session.query({ text: 'rollback' }).catch(() => {});
    },
    release() {},
  };
}

export interface ReaderPool {
  borrow(): Promise<BorrowedConnection>;
  close(): Promise<void>;
}

const refuseTransaction = async (): Promise<void> => {
  throw new Error('reads run outside transactions');
};

/** A few connections that cannot write, opened when they are needed. */
export function createReaderPool(
  { config }: PostgresAddress,
  explain: (error: unknown) => AppError,
  clock: Clock,
): ReaderPool {
  const pool = new Pool({
    ...config,
    max: MAX_READERS,
    idleTimeoutMillis: IDLE_MS,
    allowExitOnIdle: true,
    onConnect: prepareReading,
  });
  // A connection that is lost while idle is replaced when the next is needed.
  pool.on('error', () => {});
  const backoff = createReconnectBackoff(clock);

  async function connect() {
    if (pool.ending) throw new AppError('unavailable', 'the storage is closed');
    if (pool.waitingCount >= MAX_WAITING_READS) {
      throw new AppError('unavailable', `${pool.waitingCount} reads wait for the database already`, {
        retryAfterSeconds: 5,
      });
    }
    backoff.assertReady();
    try {
      const client = await pool.connect();
      backoff.passed();
      return client;
    } catch (error) {
      const explained = explain(error);
      backoff.failed(explained);
      throw explained;
    }
  }

  return {
    async borrow() {
      const client = await connect();
      let isBroken = false;
      const lost = (): void => {
        isBroken = true;
      };
      client.on('error', lost);
      return {
        async query(statement) {
          try {
            return await client.query(statement);
          } catch (error) {
            if (breaksSession(error)) isBroken = true;
            throw error;
          }
        },
        begin: refuseTransaction,
        commit: refuseTransaction,
        rollback: refuseTransaction,
        release() {
          client.off('error', lost);
          client.release(isBroken);
        },
      };
    },
    close: () => pool.end(),
  };
}

const MIN_WAIT_MS = 100;
const MAX_WAIT_MS = 5_000;

/** Keeps calls from storming a server that cannot be reached: after a failure they fail at once for a while. */
interface ReconnectBackoff {
  /** Throws the last failure while it is too early to try again. */
  assertReady(): void;
  failed(error: AppError): void;
  passed(): void;
}

/** The while doubles with each failure, from 100 ms to 5 s. */
function createReconnectBackoff(clock: Pick<Clock, 'monotonic'>): ReconnectBackoff {
  let last: { readonly error: AppError; readonly until: number } | undefined;
  let wait = MIN_WAIT_MS;
  return {
    assertReady() {
      if (last !== undefined && clock.monotonic() < last.until) throw last.error;
    },
    failed(error) {
      last = { error, until: clock.monotonic() + wait };
      wait = Math.min(MAX_WAIT_MS, wait * 2);
    },
    passed() {
      last = undefined;
      wait = MIN_WAIT_MS;
    },
  };
}

/** Assigns the transaction its id at once; nothing but writes follows. */
const TRANSACTION_ID: QueryConfig = {
  name: 'transaction_id',
  text: 'select txid_current()::text as id',
};
