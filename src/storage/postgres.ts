import { randomUUID } from 'node:crypto';
import { Kysely, sql } from 'kysely';
import type { Clock } from '../lib/clock.ts';
import type { AppError } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import type { Backend } from './backend.ts';
import { MANY } from './facts.ts';
import { type PostgresAddress, postgresAddress } from './postgres-address.ts';
import { runBatch } from './postgres-batch.ts';
import { postgresDialect } from './postgres-dialect.ts';
import { explainPostgres } from './postgres-errors.ts';
import { ADVISORY_LOCK, lendWriter, openReading } from './postgres-lending.ts';
import { createLink } from './postgres-link.ts';
import { startListening } from './postgres-listening.ts';
import { CHANNEL, factsIn, noticesOf } from './postgres-notices.ts';
import { type Limits, openSession, USUAL } from './postgres-session.ts';
import { SERVER_CLOCK } from './postgres-texts.ts';
import { FACT_NOUNS } from './storage.ts';
import type { Database } from './tables.ts';

/** Migrations may take as long as they need; waiting for another process's is bounded. */
const MIGRATING: Limits = { statementMs: 0, lockMs: 600_000, idleMs: 60_000 };
/** A renewal that takes longer is tried again: a lease lasts for seconds. */
const KEEPING: Limits = { statementMs: 3_000, lockMs: 2_000, idleMs: 2_000 };

const within = (address: PostgresAddress, ms: number): PostgresAddress => ({
  ...address,
  config: { ...address.config, query_timeout: ms },
});

/**
 * Connects to the database of a `postgres://` URL, so that whatever keeps it from being used is told at once: the
 * server, the database, the user, a version that is too old, commits that would not reach the disk.
 */
export async function openPostgres(
  url: string,
  { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
): Promise<Backend> {
  const address = postgresAddress(url);
  const name = randomUUID();
  const explain = (error: unknown): AppError => explainPostgres(error, address.place, address.user);
  const linkTo = (at: PostgresAddress, limits: Limits) =>
    createLink({ open: () => openSession(at, limits), explain, clock });
  const link = linkTo(address, USUAL);
  const keeping = linkTo(within(address, KEEPING.statementMs + 1_000), KEEPING);
  const reading = openReading(address, explain, clock);
  let endListening = async (): Promise<void> => {};
  await link.session();

  async function migrating(work: (db: Kysely<Database>) => Promise<void>): Promise<void> {
    const own = linkTo(within(address, 0), MIGRATING);
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

  const reader = new Kysely<Database>({ dialect: postgresDialect(reading.lend, explain) });

  return {
    reader,
    writer: new Kysely<Database>({ dialect: postgresDialect(() => lendWriter(link), explain) }),
    keeper: new Kysely<Database>({ dialect: postgresDialect(() => lendWriter(keeping), explain) }),
    tenure: { isAlone: false, now: sql.raw(SERVER_CLOCK) },
    run: plans => runBatch({ link, name, explain }, plans),
    async notify(db, facts) {
      for (const notice of noticesOf(name, facts))
        await sql`select pg_notify(${CHANNEL}, ${notice})`.execute(db);
    },
    listen(heard) {
      endListening = startListening({
        address,
        clock,
        logger,
        heard: notice => factsIn(notice, name).forEach(heard),
        begun() {
          for (const noun of FACT_NOUNS) heard({ workspace: MANY, noun, id: MANY });
        },
      });
    },
    migrating,
    async size() {
      const asked = sql<{ bytes: number }>`select pg_database_size(current_database()) as bytes`;
      return (await asked.execute(reader)).rows[0]?.bytes ?? 0;
    },
    openReader: async () => {},
    async close() {
      await endListening();
      await reading.close();
      await keeping.close();
      await link.close();
    },
  };
}
