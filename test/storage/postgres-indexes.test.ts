import { Kysely } from 'kysely';
import { Client } from 'pg';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { AppError, reasonOf } from '../../src/lib/errors.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { MIGRATIONS } from '../../src/storage/migrations/index.ts';
import { migrate } from '../../src/storage/migrations/migrate.ts';
import { postgresDialect } from '../../src/storage/postgres/dialect.ts';
import { openPostgres } from '../../src/storage/postgres/postgres.ts';
import type { Database } from '../../src/storage/tables.ts';
import { createPostgresDatabase, type TestPostgresDatabase } from '../helpers/postgres.ts';
import { NARROW_READS, READS } from './reads.ts';

/** Enough rows, spread over few and many values, that the planner has a reason to choose. */
const FILL = `
  insert into incidents (workspace, id, notification, condition, subject, state, seq, opened_at, closed_at,
    close_reason, severity, text, rule, notified, last_event_at, reminders)
    select 'default', 'i' || n, 'n' || n % 50, 'no-data', 's' || n,
    case when n % 100 = 0 then 'open' else 'closed' end, 1, n, null, null, 'warn', '', '', '[]', n, 0
    from generate_series(1, 10000) n;
  insert into deliveries (workspace, id, target, notification, subject, incident_id, event_id, seq, status, state,
    attempts, unknown_attempts, created_at, retried_from, redelivered)
    select 'default', 'd' || n, 't' || n % 50, 'n' || n % 50, 's', 'i' || n, 'e' || n, 1, 'ALARM',
    case when n % 100 = 0 then 'waiting' when n % 100 = 1 then 'exhausted' else 'sent' end, 0, 0, n, 0, 0
    from generate_series(1, 10000) n;
  analyze`;

let database: TestPostgresDatabase;
let client: Client;
let plans: string[];
let reader: Kysely<Database>;

beforeAll(async () => {
  database = await createPostgresDatabase();
  const backend = await openPostgres(database.url, { clock: systemClock, logger: silentLogger });
  await backend.withMigrationLock(db => migrate(db, MIGRATIONS));
  await backend.close();
  await database.run(FILL);
  client = new Client(database.url);
  await client.connect();
  // Small tables are read and sorted whole; what is left to choose shows whether there is an index that will do.
  await client.query('set enable_seqscan to off; set enable_bitmapscan to off; set enable_sort to off');
});
afterAll(async () => {
  await client.end();
  await database.remove();
});
beforeEach(() => {
  plans = [];
  reader = new Kysely<Database>({
    dialect: postgresDialect(lendExplaining, error => new AppError('internal', reasonOf(error))),
  });
});

const none = async (): Promise<void> => {};

/** Answers queries and notes how PostgreSQL goes about each. */
async function lendExplaining() {
  return {
    async query({ text, values }: { text: string; values?: unknown[] }) {
      const explained = await client.query({ text: `explain ${text}`, values: values ?? [] });
      plans.push(explained.rows.map(row => row['QUERY PLAN']).join('\n'));
      return client.query({ text, values: values ?? [] });
    },
    begin: none,
    commit: none,
    rollback: none,
    release() {},
  };
}

it.each(READS)('reads %s through an index, in its order', async (_what, read) => {
  await read(reader);
  expect(plans.length).toBeGreaterThan(0);
  for (const plan of plans) {
    expect(plan).toMatch(/Index (Only )?Scan( Backward)? using/);
    expect(plan).not.toMatch(/Seq Scan|Sort/);
  }
});

it.each(NARROW_READS)('does not walk through the whole workspace for %s', async (_what, read, index) => {
  await read(reader);
  for (const plan of plans) expect(plan).toContain(index);
});
