import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openTestStorage, type TestStorage } from '../helpers/storage.ts';

/**
 * What each number of the store is, as a clock that is set back over a restart must neither hold anything for longer than
 * its time and a bound, nor lose it.
 */
type Rule =
  /** No time. */
  | 'number'
  /** When something happened: shown, ordered by, and kept for so long; nobody waits for it. */
  | 'record'
  /** A date that a person chose, or that others were told: it is meant by the calendar, whatever that shows. */
  | 'date'
  /** Something is refused until then, so that later is safe. */
  | 'refusal'
  /** By the clock of the database, which all processes share. */
  | 'clock of the database'
  /** Something waits for it, or ends by it: the files and the sentences of the tests that set a clock back. */
  | readonly (readonly [file: string, sentence: string])[];

const ESCALATIONS = [
  'src/notifications/incidents/escalations.test.ts',
  'reminds and escalates no later than its intervals after a restart by a clock that was set back',
] as const;
const SILENCES = [
  [
    'src/notifications/silences/silences.test.ts',
    'waits no longer than its silence lasts after a restart by a clock that was set back',
  ],
  [
    'src/notifications/silences/silences.test.ts',
    'is sent within a minute when the clock was set back before its silence began',
  ],
] as const;
const SESSIONS = [
  ['src/auth/sessions/sessions.test.ts', 'a clock set back by a minute keeps a session, by more it does not'],
] as const;

const RULES: Readonly<Record<string, Readonly<Record<string, Rule>>>> = {
  acknowledgements: { acknowledged: 'number', changed_at: [ESCALATIONS] },
  attempts: { number: 'number', started_at: 'record', duration_ms: 'number', http_status: 'number' },
  audit: { created_at: 'record', count: 'number' },
  components: { seen_at: 'record' },
  config_documents: { revision: 'number', updated_at: 'record' },
  config_versions: { created_at: 'record' },
  credential_secrets: { created_at: 'record', not_after: 'date', last_used_at: 'record' },
  credentials: {
    ...{ enabled: 'number', version: 'number', expires_at: 'date', created_at: 'record' },
    ...{ updated_at: 'record', last_used_at: 'record', deleted_at: 'record' },
  },
  deliveries: {
    ...{ seq: 'number', attempts: 'number', unknown_attempts: 'number', last_status: 'number' },
    ...{ retried_from: 'number', redelivered: 'number', settled_at: 'record', retried_at: 'record' },
    next_at: [
      [
        'src/delivery/dispatcher.test.ts',
        'is held up for an hour at the most by a wall clock that was set back before a restart',
      ],
      [
        'src/notifications/grouping/groups.test.ts',
        'waits no longer than its longest wait after a restart by a clock that was set back, and is not lost',
      ],
      ...SILENCES,
    ],
    created_at: [ESCALATIONS],
    released_at: [ESCALATIONS],
  },
  component_groups: { created_at: 'record' },
  events: { created_at: 'record' },
  groups: {
    interval_ends_at: [
      [
        'src/notifications/grouping/groups.test.ts',
        'waits no longer than the interval after a restart by a clock that was set back',
      ],
    ],
  },
  hours: { start: 'record' },
  incidents: {
    ...{ seq: 'number', reminders: 'number', closed_at: 'record', escalated_at: 'record' },
    opened_at: [ESCALATIONS],
    last_event_at: [ESCALATIONS],
    unmet_since: [
      [
        'src/notifications/alarm-end.test.ts',
        'goes on where it was by a clock that was set back before a restart',
      ],
    ],
    flapping_changes: 'number',
    last_changes: [
      [
        'src/notifications/alarm-end.test.ts',
        'counts changes, and ends after a window without one, by a clock that was set back before a restart',
      ],
    ],
  },
  ingest_tokens: {
    ...{ enabled: 'number', created_at: 'record', expires_at: 'date', last_used_at: 'record' },
    ...{ issued_at: 'record', former_ends_at: 'date' },
  },
  keys: { created_at: 'record', since: 'date', ends_at: 'date' },
  leases: { epoch: 'number', until: 'clock of the database' },
  members: { created_at: 'record', updated_at: 'record' },
  messages: { time: 'record' },
  migrations_lock: { is_locked: 'number' },
  minutes: { hour: 'record', in_hours: 'number' },
  nodes: { started_at: 'record', until: 'clock of the database' },
  organizations: { role_selector: 'number', created_at: 'record', updated_at: 'record' },
  removed_targets: {
    replaced_at: [
      [
        'src/app/leader/removed-targets.test.ts',
        'keeps them for 30 days from its start by a clock that was set back before, and sends ends by them meanwhile',
      ],
    ],
    paused_until: [
      [
        'src/delivery/worker-pauses.test.ts',
        'keeps it for an hour at the most, should the wall clock have been set back meanwhile',
      ],
    ],
  },
  revoked_tokens: { expires_at: 'refusal' },
  secrets: { created_at: 'record', updated_at: 'record' },
  // What was due until then may have arrived: later only says so of more.
  sending: { until: 'record' },
  sessions: { user_version: 'number', created_at: SESSIONS, seen_at: SESSIONS, ends_at: SESSIONS },
  silences: { starts_at: SILENCES, ends_at: SILENCES, until_resolved: 'number', created_at: 'record' },
  snapshots: { part: 'number' },
  used_states: { ends_at: 'refusal' },
  users: {
    ...{ force_password_change: 'number', disabled: 'number', version: 'number' },
    ...{ created_at: 'record', updated_at: 'record' },
  },
  workspaces: { created_at: 'record', updated_at: 'record' },
};

/** Lists of times as text. */
const TEXTS = ['incidents.last_changes'];

let store: TestStorage;
beforeEach(async () => {
  store = await openTestStorage();
});
afterEach(() => store.close());

test('of every number of the store it is said whether anything waits for it', () => {
  const file = new Sqlite(`${store.folder}/headgate.db`, { readonly: true });
  const found = file
    .prepare<[], { name: string }>(
      `select t.name || '.' || c.name as name from sqlite_master t join pragma_table_info(t.name) c
        where t.type = 'table' and lower(c.type) like '%int%'`,
    )
    .all();
  file.close();
  const ruled = Object.entries(RULES).flatMap(([table, columns]) =>
    Object.keys(columns).map(column => `${table}.${column}`),
  );
  expect(ruled.sort()).toEqual([...found.map(({ name }) => name), ...TEXTS].sort());
});

test('whatever waits is tested by a clock that is set back', () => {
  const root = join(import.meta.dirname, '../..');
  const cited = Object.values(RULES)
    .flatMap(columns => Object.values(columns))
    .flatMap(rule => (typeof rule === 'string' ? [] : rule));
  for (const [file, sentence] of cited) {
    const text = readFileSync(join(root, file), 'utf8');
    expect(text, `${file}: ${sentence}`).toContain(`('${sentence}'`);
    const body = text.slice(text.indexOf(sentence)).split(/\n\s*(?:it|test|describe)\(/)[0];
    expect(body, `${file}: ${sentence}`).toMatch(/clock\.step\(-|86_400_000/);
  }
});
