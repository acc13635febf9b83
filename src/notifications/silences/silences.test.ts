import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { observedClockOf, type TestClock, testClock } from '../../../test/helpers/clock.ts';
import { testComponents } from '../../../test/helpers/components.ts';
import { openTestStorage, type TestStorage } from '../../../test/helpers/storage.ts';
import { opening } from '../../../test/helpers/transitions.ts';
import { until } from '../../../test/helpers/until.ts';
import { monotonicIds } from '../../lib/ids.ts';
import { silentLogger } from '../../lib/logger.ts';
import type { Target } from '../../targets/target.ts';
import { createEngine, type Engine } from '../engine.ts';
import type { ExternalEvent } from '../external-events.ts';
import type { Matcher } from '../matchers.ts';
import { configureNotification } from '../notification.ts';
import { ActiveSilences } from './silences.ts';

let store: TestStorage;
let clock: TestClock;
let engine: Engine;
let began: number;

beforeEach(async () => {
  store = await openTestStorage();
  clock = testClock();
  began = clock.now();
  engine = create();
});

afterEach(async () => {
  await engine.stop();
  await store.close();
});

function create(): Engine {
  return createEngine({
    workspace: 'default',
    storage: store.storage,
    components: testComponents(clock),
    clock,
    observedClock: observedClockOf(clock),
    ids: monotonicIds(clock),
    logger: silentLogger,
    outbox: { enqueue: () => {}, readFrom: () => {} },
    externalUrl: () => undefined,
    instanceName: () => 'headgate',
    operationalTarget: () => undefined,
  });
}

const hook: Target = {
  settings: { id: 'hook', type: 'test', systemFields: [] },
  concurrency: 1,
  fallback: undefined,
  batching: undefined,
  neverGroups: false,
  send: async () => ({ kind: 'sent' }),
  bulletinText: () => undefined,
};

async function start(change: object = {}): Promise<void> {
  const monitors = configureNotification({
    id: 'monitors',
    condition: 'monitor-alerts',
    targets: ['hook'],
    ...change,
  });
  engine.configure([monitors], [hook]);
  await engine.start();
}

async function restart(change: object = {}): Promise<void> {
  await engine.stop();
  engine = create();
  await start(change);
}

const post = (key: string, state: ExternalEvent['state'], team = 'red'): Promise<void> =>
  engine.receive('edge', [{ condition: 'monitor-alerts', key, state, fields: { team } }]);
const pass = (seconds: number): Promise<void> => clock.advance(seconds * 1000);

const RED: readonly Matcher[] = [{ name: 'team', op: '=', value: 'red' }];

interface Wanted {
  readonly matchers?: readonly Matcher[];
  readonly fromSec?: number;
  readonly forSec?: number;
  readonly isUntilResolved?: boolean;
}

/** Silences from now on by default, for a minute. */
async function silence(
  id: string,
  { matchers = RED, fromSec = 0, forSec = 60, isUntilResolved = false }: Wanted = {},
): Promise<void> {
  const starts_at = clock.now() + fromSec * 1000;
  const row = {
    id,
    matchers: JSON.stringify(matchers),
    starts_at,
    ends_at: starts_at + forSec * 1000,
    until_resolved: Number(isUntilResolved),
    comment: 'upgrade',
    created_by: 'ops',
    created_at: clock.now(),
  };
  await store.storage.transaction(tx => tx.in('default').addSilence(row));
  await engine.refreshSilences();
}

async function endAt(id: string, sec: number): Promise<void> {
  const ends_at = began + sec * 1000;
  await store.storage.transaction(tx => tx.in('default').updateSilence(id, { ends_at }, clock.now()));
  await engine.refreshSilences();
}

/** What waits, and what was put into the queue: key, status and state, and the silence that it waits or waited for. */
async function deliveries(): Promise<string[]> {
  const { rows } = await store.storage.in('default').deliveries.list({}, { offset: 0, limit: 100 });
  return rows
    .toReversed()
    .map(row => [row.subject, row.status, row.state, row.silenced_by].filter(Boolean).join(' '));
}

const become = (...expected: string[]): Promise<void> =>
  until(async () => JSON.stringify(await deliveries()) === JSON.stringify(expected), 'the deliveries');

async function lastEvent(): Promise<Record<string, unknown>> {
  const { rows } = await store.storage.in('default').incidents.list({}, { offset: 0, limit: 1 });
  const events = await store.storage
    .in('default')
    .events.ofIncident(rows[0]?.id ?? '', { offset: 0, limit: 10 });
  return JSON.parse(events.rows.at(-1)?.body ?? '{}');
}

describe('an alarm that a silence fits', () => {
  it('waits on disk from its transition on, is sent when the silence ends, and names it', async () => {
    await start();
    await silence('s1');
    await post('a', 'ALARM');
    await post('b', 'ALARM', 'blue');
    expect(await deliveries()).toEqual(['a ALARM grouped s1', 'b ALARM waiting']);
    await pass(59);
    expect(await deliveries()).toEqual(['a ALARM grouped s1', 'b ALARM waiting']);
    await pass(1);
    await become('a ALARM waiting s1', 'b ALARM waiting');
    const { rows } = await store.storage
      .in('default')
      .incidents.list({ silence: 's1' }, { offset: 0, limit: 9 });
    expect(rows).toMatchObject([{ subject: 'a' }]);
    const [row] = rows;
    const { rows: events } = await store.storage
      .in('default')
      .events.ofIncident(row?.id ?? '', { offset: 0, limit: 9 });
    expect(JSON.parse(events[0]?.body ?? '')).toMatchObject({
      silence: 's1',
      silenceComment: 'upgrade',
      silenceAuthor: 'ops',
      _raw: expect.stringContaining('(silenced until 2026-01-01T00:01:00.000Z by ops: upgrade)'),
    });
  });

  it('is sent to nobody, nor is its end, when its incident is over before', async () => {
    await start();
    await silence('s1');
    await post('a', 'ALARM');
    await post('a', 'OK');
    await pass(100);
    expect(await deliveries()).toEqual(['a ALARM skipped s1']);
  });

  it('waits over a restart, and for no longer than its silence', async () => {
    await start();
    await silence('s1');
    await post('a', 'ALARM');
    await restart();
    await pass(50);
    expect(await deliveries()).toEqual(['a ALARM grouped s1']);
    await pass(11);
    await become('a ALARM waiting s1');
    expect(await lastEvent()).toMatchObject({ silence: 's1' });
  });

  it('waits no longer than its silence lasts after a restart by a clock that was set back', async () => {
    await start();
    await silence('s1');
    await post('a', 'ALARM');
    await pass(50);
    clock.step(-40_000);
    await restart();
    await pass(45);
    expect(await deliveries()).toEqual(['a ALARM grouped s1']);
    await pass(6);
    await become('a ALARM waiting s1');
  });

  it('is sent within a minute when the clock was set back before its silence began', async () => {
    await start();
    await silence('s1', { forSec: 600 });
    await post('a', 'ALARM');
    clock.step(-365 * 86_400_000);
    await restart();
    await pass(60);
    await become('a ALARM waiting s1');
  });

  it('is sent at the start of a process when its silence ended meanwhile', async () => {
    await start();
    await silence('s1');
    await post('a', 'ALARM');
    await engine.stop();
    await clock.advance(120_000);
    engine = create();
    await start();
    await pass(1);
    await become('a ALARM waiting s1');
    expect(await lastEvent()).toMatchObject({ silence: 's1' });
  });

  it('is sent at once when its silence is expired, and later when it is extended', async () => {
    await start();
    await silence('s1');
    await post('a', 'ALARM');
    await endAt('s1', 120);
    await pass(100);
    expect(await deliveries()).toEqual(['a ALARM grouped s1']);
    await endAt('s1', 100);
    await pass(1);
    await become('a ALARM waiting s1');
  });

  it('goes on waiting for another silence that fits it by then', async () => {
    await start();
    await silence('s1');
    await post('a', 'ALARM');
    await silence('s2', { fromSec: 30, forSec: 90, matchers: [{ name: 'team', op: '=~', value: 'r.*' }] });
    await pass(70);
    await become('a ALARM grouped s2');
    await pass(51);
    await become('a ALARM waiting s2');
    expect(await lastEvent()).toMatchObject({ silence: 's2' });
  });

  it('waits for the end of a mute window after its silence', async () => {
    const times = ['00:00-00:05'];
    await start({ muteWindows: [{ times }] });
    await silence('s1');
    await post('a', 'ALARM');
    await pass(250);
    expect(await deliveries()).toEqual(['a ALARM grouped s1']);
    await pass(60);
    await become('a ALARM waiting s1');
  });
});

async function heldBackBy(silence: string): Promise<string[]> {
  const { rows } = await store.storage.in('default').incidents.list({ silence }, { offset: 0, limit: 9 });
  return rows.map(({ subject }) => subject);
}

describe('the incidents of a silence', () => {
  it('are those whose alarms waited for it, also once another one holds them back', async () => {
    await start();
    await silence('s1');
    await post('a', 'ALARM');
    await silence('s2', { fromSec: 30, forSec: 90 });
    await pass(70);
    await become('a ALARM grouped s2');
    expect(await heldBackBy('s1')).toEqual(['a']);
    expect(await heldBackBy('s2')).toEqual(['a']);
  });

  it('are also those whose alarms it took over from a group', async () => {
    await start({ groupBy: ['team'], groupWait: '10s' });
    await post('a', 'ALARM');
    await silence('s1', { isUntilResolved: true });
    expect(await heldBackBy('s1')).toEqual([]);
    await pass(20);
    await become('a ALARM grouped s1');
    expect(await heldBackBy('s1')).toEqual(['a']);
    await restart({ groupBy: ['team'], groupWait: '10s' });
    await post('a', 'OK');
    await until(async () => (await store.storage.in('default').silences.get('s1'))?.ends_at === clock.now());
  });
});

describe('a silence', () => {
  it('that begins later holds back what comes from then on', async () => {
    await start();
    await silence('s1', { fromSec: 10 });
    await post('a', 'ALARM');
    await pass(11);
    await post('b', 'ALARM');
    expect(await deliveries()).toEqual(['a ALARM waiting', 'b ALARM grouped s1']);
  });

  it('does not hold back the end of an incident whose alarm was sent', async () => {
    await start();
    await post('a', 'ALARM');
    await silence('s1');
    await post('a', 'OK');
    expect(await deliveries()).toEqual(['a ALARM waiting', 'a OK waiting']);
  });

  it('holds back what waits in a group when the group is due', async () => {
    await start({ groupBy: ['team'], groupWait: '10s', groupInterval: '60s' });
    await post('a', 'ALARM');
    await silence('s1');
    await pass(20);
    await become('a ALARM grouped s1');
    await pass(60);
    await become('a ALARM waiting s1');
  });

  it('until resolved ends with the last incident that it held back, also over a restart', async () => {
    await start();
    await silence('s1', { isUntilResolved: true, forSec: 604_800 });
    await post('a', 'ALARM');
    await post('b', 'ALARM');
    await post('a', 'OK');
    await restart();
    await post('c', 'ALARM');
    await post('b', 'OK');
    await post('c', 'OK');
    await until(async () => (await store.storage.in('default').silences.get('s1'))?.ends_at === clock.now());
    await post('d', 'ALARM');
    expect(await deliveries()).toContain('d ALARM waiting');
  });

  it('until resolved ends with an incident that another silence held back since', async () => {
    await start({ repeatInterval: '10s' });
    await silence('s1', { isUntilResolved: true });
    await post('a', 'ALARM');
    await silence('s2', { forSec: 600 });
    await pass(11);
    await post('a', 'ALARM');
    await until(async () => {
      const { rows } = await store.storage
        .in('default')
        .incidents.list({ silence: 's2' }, { offset: 0, limit: 9 });
      return rows.length === 1;
    }, 'the reminder that s2 holds back');
    await post('a', 'OK');
    await until(async () => (await store.storage.in('default').silences.get('s1'))?.ends_at === clock.now());
  });

  it('until resolved does not end before it held anything back', async () => {
    await start();
    await post('a', 'ALARM');
    await silence('s1', { isUntilResolved: true });
    await post('a', 'OK');
    await post('b', 'ALARM');
    expect(await deliveries()).toContain('b ALARM grouped s1');
  });
});

it('looks for the silences of an event among 10,000 by the values that they ask for, and not one by one', async () => {
  const of = (at: number, value: string) => ({
    id: `s${at}`,
    matchers: JSON.stringify([{ name: 'team', op: '=', value }]),
    starts_at: clock.now(),
    ends_at: clock.now() + 60_000 + at,
    until_resolved: 0,
    comment: 'upgrade',
    created_by: 'ops',
    created_at: clock.now(),
  });
  await store.storage.transaction(async tx => {
    for (let at = 0; at < 10_000; at++)
      await tx.in('default').addSilence(of(at, at % 5000 === 0 ? 'red' : `team-${at}`));
  });
  const silences = new ActiveSilences({
    ...{ workspace: 'default', storage: store.storage },
    clock,
    logger: silentLogger,
  });
  await silences.start(() => {});
  const { event } = opening();
  let read = 0;
  const counted = new Proxy(
    { ...event, team: 'red' },
    {
      get(target, name, receiver) {
        read++;
        return Reflect.get(target, name, receiver);
      },
    },
  );
  // Of the two that overlap, the one that ends last.
  expect(silences.silenceFor(counted)?.id).toBe('s5000');
  expect(read).toBeLessThan(20);
  await silences.stop();
});
