import { Pool } from 'pg';
import type { Clock } from '../lib/clock.ts';
import { AppError } from '../lib/errors.ts';
import type { PostgresAddress } from './postgres-address.ts';
import { createBackOff } from './postgres-back-off.ts';
import { TRANSACTION_ID } from './postgres-batch.ts';
import type { Lent } from './postgres-dialect.ts';
import { endsSession } from './postgres-errors.ts';
import type { Link } from './postgres-link.ts';
import { prepareReading, type Session } from './postgres-session.ts';

/** What every process that writes by hand or migrates holds meanwhile; the number means nothing but this. */
export const ADVISORY_LOCK = 4_815_162_342;

const MOST_READING = 6;
const MOST_WAITING = 20_000;
const IDLE_MS = 60_000;

/** Lends the writer. Its transactions are one at a time over all processes of a database, as on SQLite. */
export async function lendWriter(link: Link): Promise<Lent> {
  const session: Session = await link.session();
  let id = '';
  return {
    query: statement => session.query(statement),
    async begin() {
      await session.query({ text: 'begin' });
      await session.query({ text: 'select pg_advisory_xact_lock($1)', values: [ADVISORY_LOCK] });
      id = (await session.query(TRANSACTION_ID)).rows[0]?.id;
    },
    commit: () => link.commit(session, id),
    async rollback() {
      if (!session.isOver()) await session.query({ text: 'rollback' }).catch(() => {});
    },
    giveBack() {},
  };
}

export interface Reading {
  lend(): Promise<Lent>;
  close(): Promise<void>;
}

const noTransaction = async (): Promise<void> => {
  throw new Error('reads run outside transactions');
};

/** A few connections that cannot write, opened when they are needed. */
export function openReading(
  { config }: PostgresAddress,
  explain: (error: unknown) => AppError,
  clock: Clock,
): Reading {
  const pool = new Pool({
    ...config,
    max: MOST_READING,
    idleTimeoutMillis: IDLE_MS,
    allowExitOnIdle: true,
    onConnect: prepareReading,
  });
  // A connection that is lost while idle is replaced when the next is needed.
  pool.on('error', () => {});
  const backOff = createBackOff(clock);

  async function connect() {
    if (pool.ending) throw new AppError('unavailable', 'the storage is closed');
    if (pool.waitingCount >= MOST_WAITING) {
      throw new AppError('unavailable', `${pool.waitingCount} reads wait for the database already`, {
        retryAfterSeconds: 5,
      });
    }
    backOff.assertTime();
    try {
      const client = await pool.connect();
      backOff.passed();
      return client;
    } catch (error) {
      const explained = explain(error);
      backOff.failed(explained);
      throw explained;
    }
  }

  return {
    async lend() {
      const client = await connect();
      let over = false;
      const lost = (): void => {
        over = true;
      };
      client.on('error', lost);
      return {
        async query(statement) {
          try {
            return await client.query(statement);
          } catch (error) {
            if (endsSession(error)) over = true;
            throw error;
          }
        },
        begin: noTransaction,
        commit: noTransaction,
        rollback: noTransaction,
        giveBack() {
          client.off('error', lost);
          client.release(over);
        },
      };
    },
    close: () => pool.end(),
  };
}
