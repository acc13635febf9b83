import Sqlite from 'better-sqlite3';
import { Kysely } from 'kysely';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { deliveryStore } from '../../src/storage/deliveries.ts';
import { eventStore } from '../../src/storage/events.ts';
import { incidentStore } from '../../src/storage/incidents.ts';
import { messageStore } from '../../src/storage/messages.ts';
import { secretsStore } from '../../src/storage/secrets.ts';
import { sqliteDialect } from '../../src/storage/sqlite-dialect.ts';
import type { Link } from '../../src/storage/sqlite-link.ts';
import type { Database } from '../../src/storage/tables.ts';
import { versionStore } from '../../src/storage/versions.ts';
import { openTestStorage, type TestStorage } from '../helpers/storage.ts';
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
function explaining(): Link {
  return {
    async ask(request) {
      if (request.kind !== 'query') throw new Error(`a store asked to ${request.kind}`);
      const { sql, parameters } = request;
      const steps = file.prepare<unknown[], { detail: string }>(`explain query plan ${sql}`).all(parameters);
      plans.push(steps.map(step => step.detail).join('; '));
      return { id: 0, failure: null, rows: file.prepare(sql).all(parameters), changes: 0, refusals: [] };
    },
    end: async () => {},
  };
}

const page = { offset: 10, limit: 10 };
const incidents = () => incidentStore(reader, 'default');
const deliveries = () => deliveryStore(reader, 'default');
const versions = () => versionStore(reader, 'default');

const READS: readonly (readonly [string, () => Promise<unknown>])[] = [
  ['open incidents', () => incidents().open()],
  ['one incident', () => incidents().get('i')],
  ['incidents', () => incidents().list({}, page)],
  ['incidents by state', () => incidents().list({ state: 'open' }, page)],
  ['incidents by notification', () => incidents().list({ notification: 'n' }, page)],
  ['incidents by both', () => incidents().list({ notification: 'n', state: 'closed' }, page)],
  ['events by their ids', () => eventStore(reader, 'default').byIds(['a', 'b'])],
  ['one delivery', () => deliveries().get('d')],
  ['deliveries', () => deliveries().list({}, page)],
  ['deliveries by state', () => deliveries().list({ state: 'exhausted' }, page)],
  ['deliveries by target', () => deliveries().list({ target: 't' }, page)],
  ['deliveries by notification', () => deliveries().list({ notification: 'n' }, page)],
  [
    'deliveries by all three',
    () => deliveries().list({ state: 'sent', target: 't', notification: 'n' }, page),
  ],
  ['waiting deliveries', () => deliveries().waiting('t', 'd', 10)],
  ['whether a target was reached', () => deliveries().reached('i', 't')],
  ['attempts', () => deliveries().attempts('d')],
  ['messages', () => messageStore(reader, 'default').list(page)],
  ['one message', () => messageStore(reader, 'default').get('m')],
  ['secrets', () => secretsStore(reader, 'default').list()],
  ['versions', () => versions().list(page)],
  ['one version', () => versions().get('v')],
  ['the last version', () => versions().last()],
  ['the number of versions', () => versions().count()],
];

it.each(READS)('reads %s through an index, in its order', async (_what, read) => {
  await read();
  expect(plans.length).toBeGreaterThan(0);
  for (const plan of plans) expect(plan).toMatch(/^SEARCH \w+ USING (COVERING )?INDEX [^;]*$/);
});

it.each([
  ['what waits for a target', () => deliveries().waiting('t', 'd', 10), 'deliveries_waiting'],
  [
    'the deliveries of an incident',
    () => deliveries().list({ incident: 'i' }, page),
    'deliveries_by_incident_id',
  ],
  ['the deliveries in a state', () => deliveries().list({ state: 'exhausted' }, page), 'deliveries_by_state'],
  [
    'the incidents of a notification',
    () => incidents().list({ notification: 'n' }, page),
    'incidents_by_notification',
  ],
])('does not walk through the whole workspace for %s', async (_what, read, index) => {
  await read();
  for (const plan of plans) expect(plan).toContain(index);
});
