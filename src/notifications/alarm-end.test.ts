import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { observedClockOf, type TestClock, testClock } from '../../test/helpers/clock.ts';
import { type TestComponents, testComponents } from '../../test/helpers/components.ts';
import { openTestStorage, type TestStorage } from '../../test/helpers/storage.ts';
import { testEngine } from '../../test/helpers/test-engine.ts';
import type { HeadgateEvent } from '../events/event.ts';
import type { ObservedClock } from '../lib/observed-clock.ts';
import type { Component } from '../pipelines/components/component.ts';
import type { IncidentRow } from '../storage/stores/incidents.ts';
import type { Target } from '../targets/target.ts';
import type { Engine } from './engine.ts';
import { configureNotification, type Notification } from './notification.ts';

let store: TestStorage;
let clock: TestClock;
let observedClock: ObservedClock;
let components: TestComponents;
let app: Component;
let engine: Engine;
let events: HeadgateEvent[];

const hook: Target = {
  settings: { id: 'hook', type: 'test', systemFields: [] },
  concurrency: 1,
  fallback: undefined,
  batching: undefined,
  send: async () => ({ kind: 'sent' }),
  bulletinText: () => undefined,
};

function create(): Engine {
  return testEngine({
    ...{ storage: store.storage, components, clock, observedClock },
    outbox: { enqueue: (rows, event) => void events.push(...rows.map(() => event)), readFrom: () => {} },
  });
}

async function open(): Promise<void> {
  store = await openTestStorage();
  clock = testClock();
  observedClock = observedClockOf(clock);
  components = testComponents(observedClock);
  app = components.add('app');
  events = [];
  engine = create();
}

async function close(): Promise<void> {
  await engine.stop();
  await store.close();
}

const silent = (settings: object = {}): Notification =>
  configureNotification({
    id: 'silent',
    condition: 'no-data',
    targets: ['hook'],
    conf: { name: 'syslog:app', timeWindow: '5s' },
    ...settings,
  });

const lead: Target = { ...hook, settings: { ...hook.settings, id: 'lead' } };

async function start(notification: Notification): Promise<void> {
  engine.configure([notification], [hook, lead]);
  await engine.start();
}

/** The process stops, and another goes on with the store after so long. */
async function restart(notification: Notification, downMs: number): Promise<void> {
  await engine.stop();
  await clock.freeze(downMs);
  engine = create();
  await start(notification);
}

/** Data comes at the beginning of each of these seconds, or of none. */
async function pass(seconds: number, hasData: boolean): Promise<void> {
  for (let second = 0; second < seconds; second++) {
    if (hasData) components.data(app);
    await clock.advance(1000);
    // The writer answers in order: a read transaction behind the commits returns after them.
    await store.storage.transaction(async () => {});
    await clock.advance(0);
  }
}

const withData = (seconds: number): Promise<void> => pass(seconds, true);
const without = (seconds: number): Promise<void> => pass(seconds, false);

/** An event every seven seconds, where one is expected every five. */
async function flap(times: number): Promise<void> {
  for (let time = 0; time < times; time++) {
    await withData(1);
    await without(6);
  }
}

const told = (): string[] => events.map(({ status }) => status);
const incidents = async (): Promise<readonly IncidentRow[]> =>
  (await store.storage.in('default').incidents.list({}, { offset: 0, limit: 100 })).rows;

describe('keepFiringFor', () => {
  beforeEach(open);
  afterEach(close);

  it('makes one alarm of an input that has data too rarely, and ends it when it was well for that long', async () => {
    await start(silent({ keepFiringFor: '20s' }));
    await flap(10);
    expect(told()).toEqual(['ALARM']);
    await withData(19);
    expect(told()).toEqual(['ALARM']);
    await withData(3);
    expect(told()).toEqual(['ALARM', 'OK']);
    expect(await incidents()).toMatchObject([{ state: 'closed', close_reason: 'resolved' }]);
  });

  it('ends alarms at once by default', async () => {
    await start(silent());
    await flap(3);
    expect(told()).toEqual(['ALARM', 'OK', 'ALARM', 'OK', 'ALARM']);
  });

  it('records each change, and says that the alarm stays', async () => {
    await start(silent({ keepFiringFor: '20s' }));
    await without(6);
    await withData(2);
    expect(await incidents()).toMatchObject([
      {
        state: 'open',
        text: expect.stringMatching(
          /^Source syslog:app is receiving data again after .*; the alarm stays for 20s$/,
        ),
        seq: 2,
      },
    ]);
    const { rows } = await store.storage.in('default').messages.list({ offset: 0, limit: 1 });
    expect(rows).toMatchObject([{ severity: 'warn', text: expect.not.stringContaining('more open') }]);
  });

  it('reminds of nothing meanwhile', async () => {
    await start(silent({ keepFiringFor: '1m', repeatInterval: '10s' }));
    await without(17);
    expect(told()).toEqual(['ALARM', 'ALARM']);
    await withData(50);
    expect(told()).toEqual(['ALARM', 'ALARM']);
    await without(7);
    expect(told()).toEqual(['ALARM', 'ALARM', 'ALARM']);
  });

  it.each([
    ['disabled', silent({ keepFiringFor: '1h', disabled: true })],
    ['deleted', undefined],
  ])('closes at once when the notification is %s', async (_, next) => {
    await start(silent({ keepFiringFor: '1h' }));
    await without(7);
    await withData(3);
    engine.configure(next === undefined ? [] : [next], [hook]);
    await without(1);
    expect(told()).toEqual(['ALARM', 'OK']);
  });

  it('applies a change of it to an alarm that is kept', async () => {
    await start(silent({ keepFiringFor: '1h' }));
    await without(7);
    await withData(10);
    engine.configure([silent({ keepFiringFor: '5s' })], [hook]);
    await withData(1);
    expect(told()).toEqual(['ALARM', 'OK']);
  });

  it('goes on after a restart where it was, however long that takes, and does not begin anew', async () => {
    const notification = silent({ keepFiringFor: '30s' });
    await start(notification);
    await without(7);
    await withData(20);
    await restart(notification, 3_600_000);
    await withData(8);
    expect(told()).toEqual(['ALARM']);
    for (let time = 0; time < 5; time++) {
      await restart(notification, 60_000);
      await withData(1);
    }
    expect(told()).toEqual(['ALARM', 'OK']);
  });

  it('goes on where it was by a clock that was set back before a restart', async () => {
    const notification = silent({ keepFiringFor: '30s' });
    await start(notification);
    await without(7);
    await withData(20);
    clock.step(-365 * 86_400_000);
    await restart(notification, 60_000);
    await withData(8);
    expect(told()).toEqual(['ALARM']);
    await withData(4);
    expect(told()).toEqual(['ALARM', 'OK']);
  });

  it('takes no time in which the process did not run', async () => {
    await start(silent({ keepFiringFor: '30s' }));
    await without(7);
    await withData(20);
    await clock.freeze(60_000);
    await withData(8);
    expect(told()).toEqual(['ALARM']);
    await withData(4);
    expect(told()).toEqual(['ALARM', 'OK']);
  });
});

describe('flapThreshold', () => {
  beforeEach(open);
  afterEach(close);

  it('makes one alarm of what follows after so many changes, and ends it after a window without one', async () => {
    await start(silent({ flapThreshold: 4, flapWindow: '1m' }));
    await flap(12);
    expect(told()).toEqual(['ALARM', 'OK', 'ALARM', 'OK', 'ALARM']);
    expect(events.map(({ flapping, changes }) => [flapping, changes])).toEqual([
      [undefined, undefined],
      [undefined, undefined],
      [undefined, undefined],
      [undefined, undefined],
      [true, 5],
    ]);
    expect(events.at(-1)?._raw).toBe('Source syslog:app had no data for 5s (flapping, 5 changes)');
    await withData(58);
    expect(told()).toHaveLength(5);
    await withData(4);
    expect(told().slice(4)).toEqual(['ALARM', 'OK']);
    expect(events.at(-1)).toMatchObject({ flapping: true, changes: 24 });
    expect(events.at(-1)?._raw).toMatch(/ \(flapped, 24 changes\)$/);
    const [last] = await incidents();
    const { rows } = await store.storage
      .in('default')
      .events.ofIncident(last?.id ?? '', { offset: 0, limit: 100 });
    const history = rows.map(({ body }) => JSON.parse(body));
    // Each change, and the end.
    expect(history.map(({ status }) => status)).toEqual([...Array(10).fill(['ALARM', 'OK']).flat(), 'OK']);
    expect(history.map(({ changes }) => changes)).toEqual(
      [...Array(20).keys(), 19].map(change => change + 5),
    );
  });

  it('tells a lasting alarm apart: after a window without a change it ends as others do', async () => {
    await start(silent({ flapThreshold: 4, flapWindow: '1m' }));
    await flap(3);
    expect(told().slice(4)).toEqual(['ALARM']);
    await without(61);
    await withData(1);
    expect(told().slice(4)).toEqual(['ALARM', 'OK']);
    expect(events.at(-1)).not.toHaveProperty('flapping');
  });

  it('counts changes across restarts', async () => {
    const notification = silent({ flapThreshold: 4, flapWindow: '1m' });
    await start(notification);
    await flap(2);
    await withData(1);
    await restart(notification, 3_600_000);
    await without(6);
    expect(told()).toEqual(['ALARM', 'OK', 'ALARM', 'OK', 'ALARM']);
    expect(events.at(-1)).toMatchObject({ flapping: true, changes: 5 });
    await restart(notification, 3_600_000);
    await withData(40);
    await restart(notification, 3_600_000);
    await withData(15);
    expect(told()).toHaveLength(5);
    await withData(8);
    expect(told().slice(4)).toEqual(['ALARM', 'OK']);
  });

  it('counts changes, and ends after a window without one, by a clock that was set back before a restart', async () => {
    const notification = silent({ flapThreshold: 4, flapWindow: '1m' });
    await start(notification);
    await flap(2);
    await withData(1);
    clock.step(-365 * 86_400_000);
    await restart(notification, 0);
    await without(6);
    expect(events.at(-1)).toMatchObject({ flapping: true, changes: 5 });
    clock.step(-365 * 86_400_000);
    await restart(notification, 0);
    await withData(63);
    expect(told().slice(4)).toEqual(['ALARM', 'OK']);
  });

  it('is off unless it is set', async () => {
    await start(silent());
    await flap(10);
    expect(events.some(event => 'flapping' in event)).toBe(false);
    expect(told()).toHaveLength(19);
  });
});

describe('an alarm that escalates', () => {
  const ESCALATING = { escalateAfter: '1m', escalateTo: ['lead'] };
  /** Target and status of what is sent, in its order. */
  const sent = async (): Promise<string[]> => {
    const { rows } = await store.storage.in('default').deliveries.list({}, { offset: 0, limit: 100 });
    return rows.toReversed().map(({ target, status }) => `${target} ${status}`);
  };

  beforeEach(open);
  afterEach(close);

  it('does not while it is only kept, does once its condition is met again, and ends for all', async () => {
    const notification = silent({ ...ESCALATING, keepFiringFor: '2m' });
    await start(notification);
    await without(7);
    await withData(90);
    expect(await sent()).toEqual(['hook ALARM']);
    await restart(notification, 0);
    await withData(5);
    expect(await sent()).toEqual(['hook ALARM']);
    await without(9);
    expect(await sent()).toEqual(['hook ALARM', 'lead ALARM']);
    expect(events.at(-1)).toMatchObject({ escalated: true });
    await withData(125);
    expect(await sent()).toEqual(['hook ALARM', 'lead ALARM', 'hook OK', 'lead OK']);
  });

  it('ends for its target alone when its time is over while it is kept', async () => {
    await start(silent({ ...ESCALATING, keepFiringFor: '2m' }));
    await without(7);
    await withData(125);
    expect(await sent()).toEqual(['hook ALARM', 'hook OK']);
  });

  it('does once, however often its condition changes while it flaps, and tells the end to all', async () => {
    await start(silent({ ...ESCALATING, flapThreshold: 2, flapWindow: '1m' }));
    await flap(1);
    await flap(20);
    expect((await sent()).filter(line => line.startsWith('lead'))).toEqual(['lead ALARM']);
    const alarms = (await sent()).filter(line => line === 'hook ALARM').length;
    await withData(65);
    expect((await sent()).slice(-2)).toEqual(['hook OK', 'lead OK']);
    expect((await sent()).filter(line => line === 'hook ALARM')).toHaveLength(alarms);
  });
});

describe('the settings', () => {
  const problemsOf = (settings: object): unknown => {
    try {
      silent(settings);
    } catch (error) {
      return error;
    }
    return undefined;
  };

  it.each([
    [{ flapWindow: '10m' }, 'flapWindow', /^needs flapThreshold, the number of changes/],
    [{ flapThreshold: 1 }, 'flapThreshold', /./],
    [{ keepFiringFor: 'soon' }, 'keepFiringFor', /./],
    [
      { condition: 'monitor-alerts', conf: {}, keepFiringFor: '5m' },
      'keepFiringFor',
      /^must be 0s: external events of 'monitor-alerts' say themselves/,
    ],
    [{ condition: 'monitor-alerts', conf: {}, flapThreshold: 5 }, 'flapThreshold', /^must be left out: /],
  ])('%j is refused at its place', (settings, name, message) => {
    expect(problemsOf(settings)).toMatchObject({
      issues: [{ path: [name], message: expect.stringMatching(message) }],
    });
  });
});

it('keeps the settings as they are written, and leaves those out that nobody set', () => {
  const written = { keepFiringFor: '1h30m', flapThreshold: 4, flapWindow: '90m' };
  expect(JSON.parse(JSON.stringify(silent(written).settings))).toMatchObject(written);
  const plain = JSON.parse(JSON.stringify(silent().settings));
  expect(plain).toMatchObject({ keepFiringFor: '0s' });
  expect(plain).not.toHaveProperty('flapWindow');
});

const taking = <Kind extends string>(kind: Kind, min: number, max: number) =>
  fc.record({ kind: fc.constant(kind), seconds: fc.integer({ min, max }) });

/** What may happen to an input and to the process that observes it. */
const step = fc.oneof(
  { weight: 4, arbitrary: taking('data', 1, 12) },
  { weight: 4, arbitrary: taking('silence', 1, 12) },
  { weight: 1, arbitrary: taking('restart', 0, 7200) },
  { weight: 1, arbitrary: taking('freeze', 4, 600) },
  { weight: 1, arbitrary: taking('suspend', 4, 600) },
  { weight: 1, arbitrary: taking('disable', 1, 5) },
);

type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

const settingsOf = fc.record(
  {
    keepFiringFor: fc.constantFrom('0s', '3s', '10s'),
    flapThreshold: fc.constantFrom(2, 3, 5),
    for: fc.constantFrom('0s', '2s'),
  },
  { requiredKeys: [] },
);

async function take({ kind, seconds }: Step, notification: Notification): Promise<void> {
  if (kind === 'data') await withData(seconds);
  else if (kind === 'silence') await without(seconds);
  else if (kind === 'restart') await restart(notification, seconds * 1000);
  else if (kind === 'freeze') await clock.freeze(seconds * 1000);
  else if (kind === 'suspend') clock.suspend(seconds * 1000);
  else {
    engine.configure([], [hook]);
    await without(seconds);
    engine.configure([notification], [hook]);
  }
}

it('whatever happens, each incident has one alarm, then one end, and is over in the end', async () => {
  await fc.assert(
    fc.asyncProperty(settingsOf, fc.array(step, { maxLength: 12 }), async (settings, steps) => {
      await open();
      try {
        const flaps = settings.flapThreshold !== undefined;
        const notification = silent({ ...settings, ...(flaps && { flapWindow: '20s' }) });
        await start(notification);
        for (const one of steps) await take(one, notification);
        // Longer than the alarm is kept, whatever was before.
        await withData(40);
        const byIncident = new Map<string, string[]>();
        for (const { incidentId, status } of events)
          byIncident.set(incidentId, [...(byIncident.get(incidentId) ?? []), status]);
        for (const statuses of byIncident.values()) expect(statuses).toEqual(['ALARM', 'OK']);
        const rows = await incidents();
        expect(rows.map(({ id, state }) => [id, state]).sort()).toEqual(
          [...byIncident.keys()].map(id => [id, 'closed']).sort(),
        );
        // Of one subject nothing overlaps: alarms and ends alternate over all incidents.
        expect(told()).toEqual(told().map((_, at) => (at % 2 === 0 ? 'ALARM' : 'OK')));
      } finally {
        await close();
      }
    }),
    { numRuns: 25 },
  );
});
