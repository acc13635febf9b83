import { expect, it } from 'vitest';
import { settle, type TestClock, testClock } from '../../../test/helpers/clock.ts';
import { testComponents } from '../../../test/helpers/components.ts';
import { silentLogger } from '../../lib/logger.ts';
import type { MinutesRow } from '../../storage/stores/minutes.ts';
import type { Component, ComponentStatus, ObservedFacts } from '../components/component.ts';
import { decodeMinutes } from './minute-codec.ts';
import { createMinuteRecorder } from './recorder.ts';
import { minutesId } from './row-ids.ts';

const HOUR = Date.UTC(2026, 0, 1);
const MINUTE_MS = 60_000;

/** Sets the counters and gauges of an engine, and shows what is recorded. */
function bench({ most = 1000, start = HOUR }: { most?: number; start?: number } = {}) {
  const clock: TestClock = testClock(start);
  const known = testComponents(clock);
  const reported = new Map<Component, Partial<ComponentStatus>>();
  const facts = new Map<Component, ObservedFacts>();
  const written: MinutesRow[][] = [];
  const limit = { most };
  const fault = { isThere: false };
  const recorder = createMinuteRecorder({
    components: {
      all: known.all,
      status: component => ({ ...known.status(component), ...reported.get(component) }),
      observed: component => facts.get(component),
    },
    clock,
    logger: silentLogger,
    maxComponents: () => limit.most,
    async append(rows) {
      if (fault.isThere) throw new Error('the disk is full');
      written.push([...rows]);
    },
  });
  const minutesOf = (component: Component, hour = HOUR) => {
    const id = minutesId(hour, component);
    const rows = written.flat().filter(row => row.id === id);
    return [...decodeMinutes(rows.map(({ data }) => data).join(''))];
  };
  const tell = (
    component: Component,
    metrics: Record<string, number>,
    facts: Partial<ComponentStatus> = {},
  ) => void reported.set(component, { metrics, timestamp: clock.now(), ...facts });
  return { clock, known, recorder, written, limit, fault, facts, minutesOf, tell };
}

it('records what counters gained in each minute and gauges at its end, from the first whole minute on', async () => {
  const { clock, known, recorder, minutesOf, tell } = bench();
  const app = known.add('app');
  tell(app, { in_events: 1000, queue_size: 5 });
  recorder.start();
  await clock.advance(MINUTE_MS / 2);
  tell(app, { in_events: 1300, queue_size: 7 });
  expect(recorder.last(app)).toBeUndefined();
  await clock.advance(MINUTE_MS);
  expect(recorder.last(app)).toEqual({
    startedAt: HOUR,
    values: { health: 0, in_events: 300, queue_size: 7 },
  });
  tell(app, { in_events: 1300, queue_size: 0 }, { health: 'Red' });
  await clock.advance(MINUTE_MS);
  expect(minutesOf(app)).toEqual([
    [0, { health: 0, in_events: 300, queue_size: 7 }],
    [1, { health: 2, in_events: 0, queue_size: 0 }],
  ]);
  await recorder.stop();
});

it('counts in full what appears later, and anew what began anew', async () => {
  const { clock, known, recorder, minutesOf, tell } = bench();
  recorder.start();
  await clock.advance(MINUTE_MS);
  const late = known.add('late');
  tell(late, { in_events: 40 });
  await clock.advance(MINUTE_MS);
  tell(late, { in_events: 3 });
  await clock.advance(MINUTE_MS);
  expect(minutesOf(late).map(([minute, { in_events }]) => [minute, in_events])).toEqual([
    [1, 40],
    [2, 3],
  ]);
  await recorder.stop();
});

it('adds increases that no reading showed in a minute to the minute in which a reading does', async () => {
  const { clock, known, recorder, minutesOf, tell } = bench();
  const app = known.add('app');
  tell(app, { in_events: 10 });
  recorder.start();
  await clock.advance(MINUTE_MS);
  tell(app, { in_events: 15 }, { health: 'Red', timestamp: HOUR });
  await clock.advance(MINUTE_MS);
  tell(app, { in_events: 15 }, { health: 'Unknown', timestamp: HOUR });
  await clock.advance(MINUTE_MS);
  tell(app, { in_events: 30 });
  await clock.advance(MINUTE_MS);
  expect(minutesOf(app)).toEqual([
    [0, { health: 0, in_events: 0 }],
    [1, { health: 2 }],
    [3, { health: 0, in_events: 20 }],
  ]);
  await recorder.stop();
});

it('writes in batches with a pause between them, each hour in rows of its own', async () => {
  const { clock, known, recorder, written, minutesOf, tell } = bench({ start: HOUR + 59 * MINUTE_MS });
  const all = Array.from({ length: 600 }, (_, index) => known.add(`in${index}`));
  for (const one of all) tell(one, { in_events: 1 });
  recorder.start();
  await clock.advance(MINUTE_MS);
  expect(written.map(rows => rows.length)).toEqual([250]);
  await clock.advance(50);
  expect(written.map(rows => rows.length)).toEqual([250, 250]);
  for (const one of all) tell(one, { in_events: 3 });
  await clock.advance(MINUTE_MS);
  expect(written.map(rows => rows.length)).toEqual([250, 250, 100, 250, 250]);
  const [first] = all;
  if (first === undefined) throw new Error('there is none');
  expect(minutesOf(first)).toEqual([[59, { health: 0, in_events: 0 }]]);
  expect(minutesOf(first, HOUR + 3_600_000)).toEqual([[0, { health: 0, in_events: 2 }]]);
  await recorder.stop();
});

it('records nothing while there are too many or nothing is wanted, and goes on when that changes', async () => {
  const { clock, known, recorder, written, limit, tell } = bench({ most: 0 });
  const app = known.add('app');
  tell(app, { in_events: 1 });
  recorder.start();
  await clock.advance(3 * MINUTE_MS);
  expect([written, recorder.recordedCount(), recorder.last(app)]).toEqual([[], 0, undefined]);
  limit.most = 1;
  await clock.advance(2 * MINUTE_MS);
  expect([written.length, recorder.recordedCount()]).toEqual([1, 1]);
  known.add('other');
  await clock.advance(MINUTE_MS);
  expect([written.length, recorder.recordedCount(), recorder.last(app)]).toEqual([1, 0, undefined]);
  await recorder.stop();
});

it('loses the minutes that cannot be written, and no more', async () => {
  const { clock, known, recorder, fault, minutesOf, tell } = bench();
  const app = known.add('app');
  const tellNow = (events: number) => tell(app, { in_events: events });
  tellNow(1);
  recorder.start();
  fault.isThere = true;
  await clock.advance(MINUTE_MS);
  fault.isThere = false;
  tellNow(5);
  await clock.advance(MINUTE_MS);
  expect(minutesOf(app)).toEqual([[1, { health: 0, in_events: 4 }]]);
  await recorder.stop();
  await settle();
});

it('records what conditions look at beside metrics, and nothing of what is 0', async () => {
  const { clock, known, recorder, facts, minutesOf, tell } = bench();
  const app = known.add('app');
  const quiet: ObservedFacts = {
    redMs: 1000,
    blockedMs: 0,
    unobserved: {},
    endedSilence: undefined,
    unreadMs: 0,
    queueUsage: undefined,
  };
  tell(app, { in_events: 1000 }, { silentMs: 0 });
  facts.set(app, quiet);
  recorder.start();
  await clock.advance(MINUTE_MS);
  tell(app, { in_events: 1090 }, { silentMs: 7200, replicas: 3 });
  facts.set(app, {
    redMs: 31_000,
    blockedMs: 400,
    unobserved: { in_events: 40 },
    endedSilence: { ms: 95_000, endedAt: 70_000 },
    unreadMs: 12_000,
    queueUsage: 80,
  });
  await clock.advance(MINUTE_MS);
  facts.set(app, {
    ...quiet,
    redMs: 31_000,
    blockedMs: 400,
    unobserved: { in_events: 40 },
    endedSilence: { ms: 95_000, endedAt: 70_000 },
  });
  tell(app, { in_events: 1090 }, { silentMs: 67_200 });
  await clock.advance(MINUTE_MS);
  expect(minutesOf(app)).toEqual([
    [0, { health: 0, in_events: 0 }],
    [
      1,
      {
        ...{ health: 0, in_events: 90, silent_seconds: 7, ended_silent_seconds: 95, unread_seconds: 12 },
        ...{ red_ms: 30_000, blocked_ms: 400, replicas: 3, queue_usage: 80, unobserved_in_events: 40 },
      },
    ],
    [2, { health: 0, in_events: 0, silent_seconds: 67 }],
  ]);
  await recorder.stop();
});
