import Sqlite from 'better-sqlite3';
import { expect, it } from 'vitest';
import { AUDIT_COLUMNS } from '../../src/storage/stores/audit.ts';
import { COMPONENT_COLUMNS } from '../../src/storage/stores/components.ts';
import { ATTEMPT_COLUMNS, DELIVERY_COLUMNS } from '../../src/storage/stores/deliveries.ts';
import { EVENT_COLUMNS, RECEIVED_EVENT_COLUMNS } from '../../src/storage/stores/events.ts';
import { HOURS_COLUMNS } from '../../src/storage/stores/hours.ts';
import { INCIDENT_COLUMNS } from '../../src/storage/stores/incidents.ts';
import { MESSAGE_COLUMNS } from '../../src/storage/stores/messages.ts';
import { SNAPSHOT_COLUMNS } from '../../src/storage/stores/snapshots.ts';
import { openTestStorage } from '../helpers/storage.ts';

it.each([
  ['incidents', INCIDENT_COLUMNS],
  ['events', EVENT_COLUMNS],
  ['received_events', RECEIVED_EVENT_COLUMNS],
  ['deliveries', DELIVERY_COLUMNS],
  ['attempts', ATTEMPT_COLUMNS],
  ['messages', MESSAGE_COLUMNS],
  ['audit', AUDIT_COLUMNS],
  ['components', COMPONENT_COLUMNS],
  ['snapshots', SNAPSHOT_COLUMNS],
  ['hours', HOURS_COLUMNS],
] as const)('rows of %s have the columns of the table', async (table, columns) => {
  const test = await openTestStorage();
  const file = new Sqlite(`${test.folder}/headgate.db`, { readonly: true });
  const found = file
    .prepare<unknown[], { name: string }>(`select name from pragma_table_info('${table}')`)
    .all();
  file.close();
  await test.close();
  expect(['workspace', ...columns].sort()).toEqual(found.map(({ name }) => name).sort());
});
