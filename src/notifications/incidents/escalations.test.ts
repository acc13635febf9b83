import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { observedClockOf, type TestClock, testClock } from '../../../test/helpers/clock.ts';
import { testComponents } from '../../../test/helpers/components.ts';
import { openTestStorage, type TestStorage } from '../../../test/helpers/storage.ts';
import { testEngine } from '../../../test/helpers/test-engine.ts';
import { until } from '../../../test/helpers/until.ts';
import type { Target } from '../../targets/target.ts';
import type { Engine } from '../engine.ts';
import type { ExternalEvent } from '../external-events.ts';
import { configureNotification } from '../notification.ts';

let store: TestStorage;
let clock: TestClock;
let engine: Engine;

beforeEach(async () => {
  store = await openTestStorage();
  clock = testClock();
  engine = create();
});

afterEach(async () => {
  await engine.stop();
  await store.close();
});

const create = (): Engine =>
  testEngine({
    storage: store.storage,
    components: testComponents(clock),
    clock,
    observedClock: observedClockOf(clock),
    outbox: { enqueue: () => {}, readFrom: () => {} },
  });

const target = (id: string): Target => ({
  settings: { id, type: 'test', systemFields: [] },
  concurrency: 1,
  fallback: undefined,
  batching: undefined,
  neverGroups: false,
  send: async () => ({ kind: 'sent' }),
  bulletinText: () => undefined,
});

const ESCALATING = { escalateAfter: '15m', escalateTo: ['lead'] };

const configure = (change: object = {}): void =>
  engine.configure(
    [configureNotification({ id: 'monitors', condition: 'monitor-alerts', targets: ['team'], ...change })],
    [target('team'), target('lead')],
  );

async function start(change: object = {}): Promise<void> {
  configure(change);
  await engine.start();
}

async function restart(change: object = {}): Promise<void> {
  await engine.stop();
  engine = create();
  await start(change);
}

const post = (state: ExternalEvent['state'], key = 'disk'): Promise<void> =>
  engine.receive('edge', [{ condition: 'monitor-alerts', key, state, fields: { team: 'red' } }]);
const minutes = (count: number): Promise<void> => clock.advance(count * 60_000);

const stores = () => store.storage.in('default');

/** Target, status and state of each delivery, in their order. */
async function deliveries(): Promise<string[]> {
  const { rows } = await stores().deliveries.list({}, { offset: 0, limit: 100 });
  return rows.toReversed().map(({ target, status, state }) => `${target} ${status} ${state}`);
}

/** Goes on evaluating until the store answers what is expected. */
const become = (...expected: string[]): Promise<void> =>
  until(async () => {
    await clock.advance(500);
    return JSON.stringify(await deliveries()) === JSON.stringify(expected);
  }, expected.join(', '));

async function openIncident() {
  const { rows } = await stores().incidents.list({ state: 'open' }, { offset: 0, limit: 1 });
  const [row] = rows;
  if (row === undefined) throw new Error('no incident is open');
  return row;
}

async function acknowledge(acknowledged = 1): Promise<void> {
  const { id } = await openIncident();
  const row = { incident: id, acknowledged, changed_at: clock.now(), changed_by: 'ana', note: '' };
  await store.storage.transaction(tx => tx.in('default').putAcknowledgement(row));
  await engine.refreshAcknowledgement(id);
}

async function silence(forMinutes: number): Promise<void> {
  const row = {
    id: 's1',
    matchers: JSON.stringify([{ name: 'team', op: '=', value: 'red' }]),
    starts_at: clock.now(),
    ends_at: clock.now() + forMinutes * 60_000,
    until_resolved: 0,
    comment: 'upgrade',
    created_by: 'ops',
    created_at: clock.now(),
  };
  await store.storage.transaction(tx => tx.in('default').addSilence(row));
  await engine.refreshSilences();
}

describe('an acknowledged incident', () => {
  it('reminds nobody until that is taken back, also over a restart, and its end comes', async () => {
    const reminding = { repeatInterval: '10m' };
    await start(reminding);
    await post('ALARM');
    await acknowledge();
    await minutes(25);
    await restart(reminding);
    await minutes(25);
    expect(await deliveries()).toEqual(['team ALARM waiting']);
    await acknowledge(0);
    await minutes(1);
    await become('team ALARM waiting', 'team ALARM waiting');
    await acknowledge();
    await post('OK');
    expect(await deliveries()).toEqual(['team ALARM waiting', 'team ALARM waiting', 'team OK waiting']);
  });

  it('reminds and escalates no later than its intervals after a restart by a clock that was set back', async () => {
    const settings = { ...ESCALATING, repeatInterval: '10m' };
    await start(settings);
    await post('ALARM');
    await acknowledge();
    await minutes(1);
    await acknowledge(0);
    await minutes(1);
    clock.step(-365 * 86_400_000);
    await restart(settings);
    await minutes(9);
    expect(await deliveries()).toEqual(['team ALARM waiting']);
    await minutes(2);
    await become('team ALARM waiting', 'team ALARM waiting');
    await minutes(3);
    expect(await deliveries()).not.toContain('lead ALARM waiting');
    await minutes(1);
    await until(async () => {
      await clock.advance(500);
      return (await deliveries()).includes('lead ALARM waiting');
    });
  });

  it('does not escalate; the next one on its subject does', async () => {
    await start(ESCALATING);
    await post('ALARM');
    await minutes(14);
    await acknowledge();
    await minutes(30);
    await post('OK');
    await post('ALARM');
    await minutes(15);
    await become('team ALARM waiting', 'team OK waiting', 'team ALARM waiting', 'lead ALARM waiting');
  });

  it('escalates as long after that was taken back as after its alarm, also over a restart', async () => {
    await start(ESCALATING);
    await post('ALARM');
    await acknowledge();
    await minutes(30);
    await acknowledge(0);
    await minutes(10);
    await restart(ESCALATING);
    await minutes(4);
    expect(await deliveries()).toEqual(['team ALARM waiting']);
    await minutes(1);
    await become('team ALARM waiting', 'lead ALARM waiting');
  });
});

describe('an incident that nobody acknowledges', () => {
  it('goes to further targets once, which get its end', async () => {
    await start(ESCALATING);
    await post('ALARM');
    await minutes(14);
    expect(await deliveries()).toEqual(['team ALARM waiting']);
    await minutes(1);
    await become('team ALARM waiting', 'lead ALARM waiting');
    const { id, escalated_at } = await openIncident();
    expect(escalated_at).toBeGreaterThanOrEqual(Date.UTC(2026, 0, 1, 0, 15));
    const { rows } = await stores().events.ofIncident(id, { offset: 0, limit: 9 });
    expect(JSON.parse(rows.at(-1)?.body ?? '')).toMatchObject({
      status: 'ALARM',
      key: 'disk',
      team: 'red',
      escalated: true,
      _raw: expect.stringMatching(/ \(not acknowledged for 15m\)$/),
    });
    await minutes(60);
    await restart(ESCALATING);
    await minutes(60);
    await post('OK');
    expect(await deliveries()).toEqual([
      'team ALARM waiting',
      'lead ALARM waiting',
      'team OK waiting',
      'lead OK waiting',
    ]);
  });

  it('goes to them as late as if no process had been started anew, and no later', async () => {
    await start(ESCALATING);
    await post('ALARM');
    await minutes(10);
    await restart(ESCALATING);
    await minutes(4);
    expect(await deliveries()).toEqual(['team ALARM waiting']);
    await minutes(1);
    await become('team ALARM waiting', 'lead ALARM waiting');
  });

  it('goes to them in time though the wall clock is set back', async () => {
    await start(ESCALATING);
    await post('ALARM');
    await minutes(1);
    clock.step(-86_400_000);
    await minutes(14);
    await become('team ALARM waiting', 'lead ALARM waiting');
  });

  it('waits as long after a silence as it would after its alarm', async () => {
    await start(ESCALATING);
    await silence(20);
    await post('ALARM');
    await minutes(21);
    await become('team ALARM waiting');
    await minutes(5);
    await restart(ESCALATING);
    await minutes(8);
    expect(await deliveries()).toEqual(['team ALARM waiting']);
    await minutes(2);
    await become('team ALARM waiting', 'lead ALARM waiting');
  });

  it('escalates in a silence once that is over, and to nobody when it ends before', async () => {
    await start(ESCALATING);
    await post('ALARM');
    await post('ALARM', 'cpu');
    await silence(30);
    await minutes(15);
    await become('team ALARM waiting', 'team ALARM waiting', 'lead ALARM grouped', 'lead ALARM grouped');
    await post('OK');
    await minutes(16);
    await become(
      'team ALARM waiting',
      'team ALARM waiting',
      'lead ALARM skipped',
      'lead ALARM waiting',
      'team OK waiting',
    );
  });

  it('ends once for a target of both lists', async () => {
    await start({ ...ESCALATING, escalateTo: ['team', 'lead'] });
    await post('ALARM');
    await minutes(15);
    await become('team ALARM waiting', 'team ALARM waiting', 'lead ALARM waiting');
    await post('OK');
    expect((await deliveries()).slice(3)).toEqual(['team OK waiting', 'lead OK waiting']);
  });

  it('does not put off reminders, and is not in them', async () => {
    await start({ ...ESCALATING, repeatInterval: '10m' });
    await post('ALARM');
    await minutes(16);
    await become('team ALARM waiting', 'team ALARM waiting', 'lead ALARM waiting');
    await minutes(4);
    await become('team ALARM waiting', 'team ALARM waiting', 'lead ALARM waiting', 'team ALARM waiting');
    const { id } = await openIncident();
    const { rows } = await stores().events.ofIncident(id, { offset: 0, limit: 9 });
    expect(JSON.parse(rows.at(-1)?.body ?? '')).toMatchObject({ reminder: 2 });
    expect(JSON.parse(rows.at(-1)?.body ?? '')).not.toHaveProperty('escalated');
  });

  it('ends for all that were notified when its notification is disabled', async () => {
    await start(ESCALATING);
    await post('ALARM');
    await minutes(15);
    await become('team ALARM waiting', 'lead ALARM waiting');
    configure({ ...ESCALATING, disabled: true });
    await minutes(1);
    await become('team ALARM waiting', 'lead ALARM waiting', 'team OK waiting', 'lead OK waiting');
  });
});

it.each([
  [{ escalateAfter: '15m' }, 'escalateTo'],
  [{ escalateTo: ['lead'] }, 'escalateAfter'],
  [{ escalateAfter: '15m', escalateTo: [] }, 'escalateTo'],
  [{ escalateAfter: '5s', escalateTo: ['lead'] }, 'escalateAfter'],
])('%j is refused at %s', (change, place) => {
  expect(() => configureNotification({ id: 'm', condition: 'monitor-alerts', ...change })).toThrow(
    expect.objectContaining({ issues: [expect.objectContaining({ path: [place] })] }),
  );
});
