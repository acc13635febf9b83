import { Kysely } from 'kysely';
import type { Clock } from '../lib/clock.ts';
import { AppError } from '../lib/errors.ts';
import type { Backend } from './backend.ts';
import { type PostgresAddress, postgresAddress } from './postgres-address.ts';
import { runBatch } from './postgres-batch.ts';
import { postgresDialect } from './postgres-dialect.ts';
import { explainPostgres } from './postgres-errors.ts';
import { ADVISORY_LOCK, lendWriter, openReading } from './postgres-lending.ts';
import { createLink } from './postgres-link.ts';
import { type Limits, openSession, type Session, USUAL } from './postgres-session.ts';
import type { Database } from './tables.ts';

/** Migrations may take as long as they need; waiting for another process's is bounded. */
const MIGRATING: Limits = { statementMs: 0, lockMs: 600_000 };

/** Held by the session that writes, so that it is the only one: what another process wrote beside it would be told twice. */
const SOLE_WRITER_LOCK = 4_815_162_343;
/** A process that was killed a moment ago may still hold it. */
const LOCK_TRIES = 20;
const LOCK_AGAIN_MS = 100;

async function openSoleWriter(address: PostgresAddress, clock: Clock): Promise<Session> {
  const session = await openSession(address, USUAL);
  for (let tries = 0; tries < LOCK_TRIES; tries++) {
    const asked = { text: 'select pg_try_advisory_lock($1) as held', values: [SOLE_WRITER_LOCK] };
    const { rows } = await session.query(asked);
    if (rows[0]?.held === true) return session;
    await clock.sleep(LOCK_AGAIN_MS);
  }
  await session.end();
  throw new AppError(
    'unavailable',
    `the database at ${address.place} is already in use by another headgate process; give each a database of its own`,
    { retryAfterSeconds: 5 },
  );
}

/**
 * Connects to the database of a `postgres://` URL, so that whatever keeps it from being used is told at once: the
 * server, the database, the user, a version that is too old, commits that would not reach the disk.
 */
export async function openPostgres(url: string, clock: Clock): Promise<Backend> {
  const address = postgresAddress(url);
  const explain = (error: unknown): AppError => explainPostgres(error, address.place, address.user);
  const link = createLink({ open: () => openSoleWriter(address, clock), explain, clock });
  const reading = openReading(address, explain, clock);
  await link.session();

  async function migrating(work: (db: Kysely<Database>) => Promise<void>): Promise<void> {
    const own = createLink({ open: () => openSession(unhurried, MIGRATING), explain, clock });
    try {
      const lock = { text: 'select pg_advisory_lock($1)', values: [ADVISORY_LOCK] };
      await (await own.session()).query(lock).catch(error => {
        throw explain(error);
      });
      await work(new Kysely<Database>({ dialect: postgresDialect(() => lendWriter(own), explain) }));
    } finally {
      // The lock ends with the session.
      await own.close();
    }
  }
  const unhurried = { ...address, config: { ...address.config, query_timeout: 0 } };

  return {
    reader: new Kysely<Database>({ dialect: postgresDialect(reading.lend, explain) }),
    writer: new Kysely<Database>({ dialect: postgresDialect(() => lendWriter(link), explain) }),
    run: plans => runBatch(link, explain, plans),
    migrating,
    openReader: async () => {},
    async close() {
      await reading.close();
      await link.close();
    },
  };
}
