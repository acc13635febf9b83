import { afterEach, beforeEach, expect, it } from 'vitest';
import { testClock } from '../../test/helpers/clock.ts';
import { openTestStorage, type TestStorage } from '../../test/helpers/storage.ts';
import { closed, incidentRow, repeated, settle, transition } from '../../test/storage/rows.ts';
import type { DeliveryState } from '../storage/tables.ts';
import { describeIncidents } from './notified.ts';

let store: TestStorage;
beforeEach(async () => {
  store = await openTestStorage();
});
afterEach(() => store.close());

const describe = (...rows: Parameters<typeof describeIncidents>[1]) =>
  describeIncidents(
    {
      stores: store.storage.in('default'),
      clock: testClock(),
      hold: () => undefined,
      configuration: () => ({
        targets: [
          { settings: { id: 'hook', type: 'webhook' } },
          { settings: { id: 'pager', type: 'pager_duty' } },
          { settings: { id: 'bell', type: 'bulletin_message' } },
          { settings: { id: 'log', type: 'notifications_log' } },
        ],
        notifications: [],
      }),
    },
    rows,
  );

/** Opens an incident and brings its delivery to each target into a state. */
async function opened(states: Readonly<Record<string, Exclude<DeliveryState, 'grouped'>>>) {
  const incident = incidentRow();
  const operation = transition(incident, { targets: Object.keys(states) });
  await store.storage.commit(operation);
  for (const { id, target } of operation.deliveries) {
    const state = states[target] ?? 'waiting';
    const lastError = state === 'sent' ? null : `${target} says no`;
    await store.storage.commit(
      settle(id, {
        state,
        attempts: 1,
        unknownAttempts: state === 'unknown' ? 1 : 0,
        lastError,
        settledAt: state === 'waiting' ? null : 4711,
      }),
    );
  }
  return incident;
}

it.each([
  [{ hook: 'sent', pager: 'refused' }, 'somebody'],
  [{ hook: 'exhausted', pager: 'waiting' }, 'waiting'],
  [{ hook: 'unknown', pager: 'waiting' }, 'unknown'],
  [{ hook: 'refused', pager: 'skipped' }, 'nobody'],
  [{ bell: 'sent', log: 'sent' }, 'nobody'],
  [{ bell: 'sent', hook: 'refused' }, 'nobody'],
  [{}, 'nobody'],
] as const)('of an incident whose alarms are %j it says that %s was notified', async (states, notified) => {
  const [described] = await describe(await opened(states));
  expect(described?.notified).toBe(notified);
});

it('names each target with its outcome, its time and its reason', async () => {
  const [described] = await describe(await opened({ hook: 'sent', pager: 'refused', bell: 'sent' }));
  expect(described?.recipients).toMatchObject([
    { target: 'hook', outcome: 'notified', at: 4711, reason: undefined, isRecord: false },
    { target: 'pager', outcome: 'failed', at: undefined, reason: 'pager says no', isRecord: false },
    { target: 'bell', outcome: 'notified', at: 4711, isRecord: true },
  ]);
});

it('keeps that a target was notified when a reminder or the end does not reach it', async () => {
  const incident = await opened({ hook: 'sent' });
  const reminder = transition(repeated(incident));
  await store.storage.commit(reminder);
  await store.storage.commit(
    settle(reminder.deliveries[0]?.id ?? '', { state: 'refused', lastError: '404' }),
  );
  await store.storage.commit(transition(closed(repeated(incident)), { body: '{"status":"OK"}' }));
  const [described] = await describe(incident);
  expect(described).toMatchObject({ notified: 'somebody', recipients: [{ target: 'hook', at: 4711 }] });
});

it('gives an incident of a flood the recipients of its summary', async () => {
  const summary = await opened({ hook: 'sent' });
  const member = incidentRow({ subject: 'syslog:other', group_id: summary.id });
  await store.storage.commit(transition(member, { targets: [] }));
  expect(await describe(member)).toMatchObject([{ notified: 'somebody', recipients: [{ target: 'hook' }] }]);
});
