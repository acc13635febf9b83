import { randomUUID } from 'node:crypto';
import { Kysely, sql } from 'kysely';
import type { Clock } from '../../lib/clock.ts';
import type { AppError } from '../../lib/errors.ts';
import type { Logger } from '../../lib/logger.ts';
import type { Backend } from '../backend.ts';
import type { Database } from '../tables.ts';
import { CHANGE_RESOURCES, MANY } from '../types.ts';
import { type PostgresAddress, postgresAddress } from './address.ts';
import { runBatch } from './batch.ts';
import { ADVISORY_LOCK, borrowWriter, createReaderPool, createWriterConnection } from './connections.ts';
import { postgresDialect } from './dialect.ts';
import { explainPostgres } from './errors.ts';
import { CHANNEL, changesFromPayload, startListening, toPayloads } from './notify.ts';
import { assertOwnSessions, DEFAULT_LIMITS, openSession, type SessionLimits } from './session.ts';
import { SERVER_CLOCK } from './sql.ts';

/** Migrations may take as long as they need; waiting for another process's is bounded. */
const MIGRATION_LIMITS: SessionLimits = { statementMs: 0, lockMs: 600_000, idleMs: 60_000 };
/** A renewal that takes longer is tried again: a lease lasts for seconds. */
const LEASE_LIMITS: SessionLimits = { statementMs: 3_000, lockMs: 2_000, idleMs: 2_000 };

const withQueryTimeout = (address: PostgresAddress, ms: number): PostgresAddress => ({
  ...address,
  config: { ...address.config, query_timeout: ms },
});

/**
 * Connects to the database of a `postgres://` URL, so that what keeps it from being used is reported at once: the
 * server, the database, the user, a version that is too old, commits that would not reach the disk.
 */
export async function openPostgres(
  url: string,
  { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
): Promise<Backend> {
  const address = postgresAddress(url);
  const name = randomUUID();
  const explain = (error: unknown): AppError => explainPostgres(error, address.label, address.user);
  const connect = (at: PostgresAddress, limits: SessionLimits) =>
    createWriterConnection({ open: () => openSession(at, limits), explain, clock });
  const writerConnection = createWriterConnection({
    async open() {
      await assertOwnSessions(address);
      return openSession(address, DEFAULT_LIMITS);
    },
    explain,
    clock,
  });
  const leaseConnection = connect(withQueryTimeout(address, LEASE_LIMITS.statementMs + 1_000), LEASE_LIMITS);
  const readerPool = createReaderPool(address, explain, clock);
  let endListening = async (): Promise<void> => {};
  await writerConnection.session();

  async function withMigrationLock(work: (db: Kysely<Database>) => Promise<void>): Promise<void> {
    const migrationConnection = connect(withQueryTimeout(address, 0), MIGRATION_LIMITS);
    try {
      const lock = { text: 'select pg_advisory_lock($1)', values: [ADVISORY_LOCK] };
      await (await migrationConnection.session()).query(lock).catch(error => {
        throw explain(error);
      });
      await work(
        new Kysely<Database>({ dialect: postgresDialect(() => borrowWriter(migrationConnection), explain) }),
      );
    } finally {
      // The lock ends with the session.
      await migrationConnection.close();
    }
  }

  const reader = new Kysely<Database>({ dialect: postgresDialect(() => readerPool.borrow(), explain) });

  return {
    reader,
    writer: new Kysely<Database>({ dialect: postgresDialect(() => borrowWriter(writerConnection), explain) }),
    leaseWriter: new Kysely<Database>({
      dialect: postgresDialect(() => borrowWriter(leaseConnection), explain),
    }),
    leaseClock: { isExclusive: false, now: sql.raw(SERVER_CLOCK) },
    run: plans => runBatch({ link: writerConnection, name, explain }, plans),
    async notify(db, changes) {
      for (const payload of toPayloads(name, changes))
        await sql`select pg_notify(${CHANNEL}, ${payload})`.execute(db);
    },
    listen(onChange) {
      endListening = startListening({
        address,
        clock,
        logger,
        onPayload: payload => changesFromPayload(payload, name).forEach(onChange),
        onListening() {
          for (const resource of CHANGE_RESOURCES) onChange({ workspace: MANY, resource, id: MANY });
        },
      });
    },
    withMigrationLock,
    async size() {
      const query = sql<{ bytes: number }>`select pg_database_size(current_database()) as bytes`;
      return (await query.execute(reader)).rows[0]?.bytes ?? 0;
    },
    openReader: async () => {},
    async close() {
      await endListening();
      await readerPool.close();
      await leaseConnection.close();
      await writerConnection.close();
    },
  };
}
