import { Kysely } from 'kysely';
import type { Clock } from '../lib/clock.ts';
import type { AppError } from '../lib/errors.ts';
import type { Backend } from './backend.ts';
import { postgresAddress } from './postgres-address.ts';
import { runBatch } from './postgres-batch.ts';
import { postgresDialect } from './postgres-dialect.ts';
import { explainPostgres } from './postgres-errors.ts';
import { ADVISORY_LOCK, lendWriter, openReading } from './postgres-lending.ts';
import { createLink } from './postgres-link.ts';
import { type Limits, openSession, USUAL } from './postgres-session.ts';
import type { Database } from './tables.ts';

/** Migrations may take as long as they need; waiting for another process's is bounded. */
const MIGRATING: Limits = { statementMs: 0, lockMs: 600_000 };

/**
 * Connects to the database of a `postgres://` URL, so that whatever keeps it from being used is told at once: the
 * server, the database, the user, a version that is too old, commits that would not reach the disk.
 */
export async function openPostgres(url: string, clock: Clock): Promise<Backend> {
  const address = postgresAddress(url);
  const explain = (error: unknown): AppError => explainPostgres(error, address.place, address.user);
  const link = createLink({ open: () => openSession(address, USUAL), explain, clock });
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
