import Sqlite from 'better-sqlite3';
import { Kysely } from 'kysely';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { sqliteDialect } from '../../src/storage/sqlite/dialect.ts';
import type { WorkerClient } from '../../src/storage/sqlite/worker-client.ts';
import type { Database } from '../../src/storage/tables.ts';
import { openTestStorage, type TestStorage } from '../helpers/storage.ts';
import { NARROW_READS, READS } from './reads.ts';
import { incidentRow, transition } from './rows.ts';

let test: TestStorage;
let file: Sqlite.Database;
let plans: string[];
let reader: Kysely<Database>;

beforeEach(async () => {
  test = await openTestStorage();
  await test.storage.commit(transition(incidentRow()));
  file = new Sqlite(`${test.folder}/headgate.db`, { readonly: true });
  plans = [];
  reader = new Kysely<Database>({ dialect: sqliteDialect(explaining()) });
});
afterEach(async () => {
  file.close();
  await test.close();
});

/** Answers queries from the file and notes how SQLite goes about each. */
function explaining(): WorkerClient {
  return {
    async call(request) {
      if (request.kind !== 'query') throw new Error(`a store asked to ${request.kind}`);
      const { sql, parameters } = request;
      const steps = file.prepare<unknown[], { detail: string }>(`explain query plan ${sql}`).all(parameters);
      plans.push(steps.map(step => step.detail).join('; '));
      return { id: 0, failure: null, rows: file.prepare(sql).all(parameters), changes: 0, refusals: [] };
    },
    end: async () => {},
  };
}

/** A list of ids may be one JSON parameter, which is read once and for itself; two tables may be read for one answer. */
const THROUGH_AN_INDEX =
  /^(COMPOUND QUERY; LEFT-MOST SUBQUERY; )?(SEARCH \w+ USING (COVERING )?INDEX [^;]*(; LIST SUBQUERY \d+; SCAN json_each VIRTUAL TABLE[^;]*)?(; UNION ALL; (?=SEARCH)|$))+$/;

it.each(READS)('reads %s through an index, in its order', async (_what, read) => {
  await read(reader);
  expect(plans.length).toBeGreaterThan(0);
  for (const plan of plans) expect(plan).toMatch(THROUGH_AN_INDEX);
});

it.each(NARROW_READS)('does not walk through the whole workspace for %s', async (_what, read, index) => {
  await read(reader);
  for (const plan of plans) expect(plan).toContain(index);
});
