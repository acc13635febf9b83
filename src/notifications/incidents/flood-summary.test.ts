import { afterEach, beforeEach, expect, it } from 'vitest';
import { observedClockOf, type TestClock, testClock } from '../../../test/helpers/clock.ts';
import { type TestComponents, testComponents } from '../../../test/helpers/components.ts';
import { openTestStorage, type TestStorage } from '../../../test/helpers/storage.ts';
import type { HeadgateEvent } from '../../events/event.ts';
import { monotonicIds } from '../../lib/ids.ts';
import { silentLogger } from '../../lib/logger.ts';
import type { Component } from '../../pipelines/components/component.ts';
import type { Target } from '../../targets/target.ts';
import { createEngine, type Engine } from '../engine.ts';
import { configureNotification } from '../notification.ts';

interface Notified {
  readonly event: HeadgateEvent;
  readonly targets: readonly string[];
}

let store: TestStorage;
let clock: TestClock;
let components: TestComponents;
let engine: Engine;
let notified: Notified[];
let released: string[];
/** The most operations that were handed to the store before the previous one was on disk. */
let mostUnderWay: number;

beforeEach(async () => {
  store = await openTestStorage();
  clock = testClock();
  components = testComponents(clock);
  notified = [];
  released = [];
  mostUnderWay = 0;
  engine = create();
});

afterEach(async () => {
  await engine.stop();
  await store.close();
});

function create(): Engine {
  let underWay = 0;
  return createEngine({
    workspace: 'default',
    storage: {
      ...store.storage,
      async commit(operation) {
        mostUnderWay = Math.max(mostUnderWay, ++underWay);
        await store.storage.commit(operation).finally(() => underWay--);
      },
    },
    components,
    clock,
    observedClock: observedClockOf(clock),
    ids: monotonicIds(clock),
    logger: silentLogger,
    outbox: {
      enqueue: (rows, event) => {
        if (rows.length > 0) notified.push({ event, targets: rows.map(row => row.target) });
      },
      readFrom: targets => released.push(...targets),
    },
    externalUrl: () => undefined,
    instanceName: () => 'gate',
    operationalTarget: () => undefined,
  });
}

const target = (id: string): Target => ({
  settings: { id, type: 'test', systemFields: [] },
  concurrency: 1,
  fallback: undefined,
  batching: undefined,
  send: async () => ({ kind: 'sent' }),
  bulletinText: () => undefined,
});

async function start(change: object = {}): Promise<void> {
  engine.configure(
    [
      configureNotification({
        id: 'silent',
        condition: 'no-data',
        targets: ['hook'],
        conf: { name: '*', ...change },
      }),
    ],
    [target('hook')],
  );
  await engine.start();
}

/** `ops` is notified of pipelines and of inputs, `team` of inputs alone. */
async function startWithOutages(): Promise<void> {
  engine.configure(
    [
      configureNotification({
        id: 'lost',
        condition: 'pipeline-unreachable',
        targets: ['ops'],
        conf: { name: '*', timeWindow: '30s' },
      }),
      configureNotification({
        id: 'silent',
        condition: 'no-data',
        targets: ['ops', 'team'],
        conf: { name: '*', timeWindow: '60s' },
      }),
    ],
    [target('ops'), target('team')],
  );
  await engine.start();
}

const notifiedTo = (id: string): string[] =>
  notified
    .filter(({ targets }) => targets.includes(id))
    .map(({ event }) => `${event.cribl_notification} ${event.status}`);

const openCount = async (): Promise<number> => (await store.storage.in('default').incidents.open()).length;

/** Evaluates once, and waits until that many incidents are open. */
async function pass(seconds: number, open: number): Promise<void> {
  for (let second = 0; second < seconds; second++) {
    await clock.advance(1000);
    await store.storage.transaction(async () => {});
  }
  await expect.poll(openCount).toBe(open);
  await clock.advance(0);
}

const add = (count: number, from = 0, pipeline = 'edge'): Component[] =>
  Array.from({ length: count }, (_, at) => components.add(`c${from + at}`, { pipeline }));

it('notifies more than 1,000 at once in one message, writes each, and notifies once that all have ended', async () => {
  const all = add(1500);
  await start();
  await pass(61, 1501);
  await pass(1, 1501);
  expect(notified).toHaveLength(1);
  expect(notified[0]).toMatchObject({
    targets: ['hook'],
    event: {
      status: 'ALARM',
      count: 1500,
      first: ['syslog:c0', 'syslog:c1', 'syslog:c2', 'syslog:c3', 'syslog:c4'],
      _raw: expect.stringMatching(
        /^1500 incidents at once: Source syslog:c0 had no data for 60s; .*; and 1495 more$/,
      ),
    },
  });
  // Batches are small enough that nothing else waits for long.
  expect(mostUnderWay).toBeLessThanOrEqual(200);
  for (const component of all.slice(0, 1400)) components.data(component);
  await pass(1, 101);
  expect(notified).toHaveLength(1);
  for (const component of all) components.data(component);
  await pass(2, 0);
  expect(notified).toHaveLength(2);
  expect(notified[1]).toMatchObject({
    targets: ['hook'],
    event: { status: 'OK', incidentId: notified[0]?.event.incidentId },
  });
});

it('knows after a restart which targets the summary notified', async () => {
  const all = add(1001);
  await start();
  await pass(61, 1002);
  await engine.stop();
  engine = create();
  await start();
  await pass(2, 1002);
  for (const component of all) components.data(component);
  await pass(1, 1);
  await pass(1, 0);
  expect(notified.map(({ event }) => event.status)).toEqual(['ALARM', 'OK']);
});

it('reminds by the summary alone, and adds the incidents of a later flood to it', async () => {
  add(1001);
  await start({ notifyOnResolution: false });
  await pass(61, 1002);
  await pass(60, 1002);
  expect(notified.map(({ event }) => event.count)).toEqual([1001, 1001]);
  expect(notified[1]?.event._raw).toMatch(/^1001 still: 1001 incidents at once/);
  add(1002, 5000);
  await pass(61, 2004);
  expect(notified.map(({ event }) => event.count)).toContain(2003);
  expect(new Set(notified.map(({ event }) => event.incidentId)).size).toBe(1);
});

it('notifies 1,000 each by itself', async () => {
  add(1000);
  await start();
  await pass(61, 1000);
  expect(notified).toHaveLength(1000);
});

it('inhibits very many inputs for targets that are notified of the pipeline, and notifies all others once', async () => {
  const all = add(1200);
  await startWithOutages();
  components.lose('edge', 'no answer');
  await pass(62, 1202);
  expect(notifiedTo('ops')).toEqual(['lost ALARM']);
  expect(notifiedTo('team')).toEqual(['silent ALARM']);
  expect(notified[1]?.event).toMatchObject({ count: 1200 });
  // Data that ends an incident comes after the incident was written.
  await pass(1, 1202);
  components.regain('edge');
  for (const component of all) components.data(component);
  await pass(1, 1);
  await pass(2, 0);
  expect(notifiedTo('ops')).toEqual(['lost ALARM', 'lost OK']);
  expect(notifiedTo('team')).toEqual(['silent ALARM', 'silent OK']);
  expect(released).toEqual([]);
  const { rows } = await store.storage
    .in('default')
    .deliveries.list({ target: 'ops' }, { offset: 0, limit: 10 });
  expect(rows.map(({ notification, state }) => `${notification} ${state}`).sort()).toEqual([
    'lost waiting',
    'lost waiting',
    'silent skipped',
  ]);
});

it('notifies them in one message when the pipeline is back and its very many inputs are still silent', async () => {
  const all = add(1200);
  await startWithOutages();
  components.lose('edge', 'no answer');
  await pass(62, 1202);
  components.regain('edge');
  await pass(3, 1201);
  expect(released).toEqual(['ops']);
  for (const component of all) components.data(component);
  await pass(1, 1);
  await pass(2, 0);
  expect(notifiedTo('ops')).toEqual(['lost ALARM', 'lost OK', 'silent OK']);
  expect(notifiedTo('team')).toEqual(['silent ALARM', 'silent OK']);
});

it('inhibits nothing of other pipelines that fall silent beside those very many', async () => {
  add(1200);
  add(2, 5000, 'west');
  await startWithOutages();
  components.lose('edge', 'no answer');
  await pass(62, 1204);
  expect(notifiedTo('ops').sort()).toEqual(['lost ALARM', 'silent ALARM', 'silent ALARM']);
  expect(notifiedTo('team')).toEqual(['silent ALARM', 'silent ALARM', 'silent ALARM']);
  add(1100, 6000, 'south');
  await pass(62, 2305);
  expect(notifiedTo('ops')).toHaveLength(4);
  expect(notifiedTo('team')).toHaveLength(4);
});

it('inhibits them until they end when the pipeline is removed from the configuration', async () => {
  add(1200);
  await startWithOutages();
  components.lose('edge', 'no answer');
  await pass(62, 1202);
  components.remove('edge');
  await pass(4, 0);
  expect(notifiedTo('ops')).toEqual(['lost ALARM', 'lost OK']);
  expect(notifiedTo('team')).toEqual(['silent ALARM', 'silent OK']);
  expect(released).toEqual([]);
});

it('ends 1,000 at a time when the pipeline of very many is removed from the configuration', async () => {
  add(900);
  await start();
  await pass(30, 0);
  add(900, 5000);
  await pass(31, 900);
  await pass(31, 1800);
  components.remove('edge');
  await clock.advance(500);
  await expect.poll(openCount).toBe(800);
  await pass(1, 0);
  await expect.poll(() => notified.length).toBe(3600);
});

it('notifies a name that looks like a summary like any other', async () => {
  await start({ name: 'summary' });
  await pass(65, 1);
  expect(notified.map(({ event }) => event.status)).toEqual(['ALARM']);
});
