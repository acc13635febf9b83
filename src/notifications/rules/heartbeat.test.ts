import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { observedClockOf, type TestClock, testClock } from '../../../test/helpers/clock.ts';
import { testComponents } from '../../../test/helpers/components.ts';
import { openTestStorage, type TestStorage } from '../../../test/helpers/storage.ts';
import { until } from '../../../test/helpers/until.ts';
import type { HeadgateEvent } from '../../events/event.ts';
import { AppError } from '../../lib/errors.ts';
import { monotonicIds } from '../../lib/ids.ts';
import { silentLogger } from '../../lib/logger.ts';
import { createEngine, type Engine } from '../engine.ts';
import { readExternalEvents } from '../external-events.ts';
import { configureNotification } from '../notification.ts';

let store: TestStorage;
let clock: TestClock;
let folder: string;
let engine: Engine;
let notified: HeadgateEvent[];
let refuse: AppError | undefined;

beforeEach(async () => {
  store = await openTestStorage();
  folder = await mkdtemp(join(tmpdir(), 'beats-'));
  clock = testClock();
  notified = [];
  refuse = undefined;
  engine = create();
});

afterEach(async () => {
  await engine.stop();
  await store.close();
  await rm(folder, { recursive: true });
});

const create = (): Engine =>
  createEngine({
    workspace: 'default',
    storage: {
      ...store.storage,
      commit: operation => (refuse ? Promise.reject(refuse) : store.storage.commit(operation)),
    },
    components: testComponents(clock),
    clock,
    observedClock: observedClockOf(clock),
    ids: monotonicIds(clock),
    logger: silentLogger,
    outbox: {
      enqueue: (_, event) => notified.push(event),
      readFrom: () => {},
    },
    externalUrl: () => undefined,
    instanceName: () => 'gate',
    operationalTarget: () => undefined,
    heartbeatsFile: join(folder, 'heartbeats'),
  });

const waits = (conf: object = {}, change: object = {}) =>
  configureNotification({
    id: 'waits',
    condition: 'heartbeat',
    conf: { name: 'backup', timeWindow: '60s', ...conf },
    ...change,
  });

async function start(...notifications: ReturnType<typeof waits>[]): Promise<void> {
  engine.configure(notifications, []);
  await engine.start();
}

const sendHeartbeat = (key = 'backup', state = 'OK', more: object = {}): Promise<void> =>
  engine.receive('cron', readExternalEvents({ condition: 'heartbeat', key, state, ...more }));

async function pass(seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second++) {
    await clock.advance(1000);
    await store.storage.transaction(async () => {});
    await clock.advance(0);
  }
}

const texts = (): string[] => notified.map(({ _raw, status }) => `${status} ${_raw}`);

it('notifies once that a heartbeat is overdue, and since when, and that it has come again', async () => {
  await start(waits());
  await pass(30);
  await sendHeartbeat();
  const due = new Date(clock.now() + 60_000).toISOString().replace(/\.\d+/, '');
  await pass(59);
  expect(texts()).toEqual([]);
  await pass(3);
  expect(texts()).toEqual([`ALARM Heartbeat backup is overdue since ${due}`]);
  expect(notified[0]).toMatchObject({ key: 'backup', timeWindow: '60s', lastBeatAt: expect.any(Number) });
  await sendHeartbeat('backup', 'OK', { fields: { host: 'db1' } });
  expect(texts()[1]).toMatch(/^OK Heartbeat backup has come again after 2s$/);
  expect(notified[1]).toMatchObject({ host: 'db1' });
  expect(notified).toHaveLength(2);
});

it('reports a name that never came after one window, but nothing that only a pattern would match', async () => {
  await start(waits(), waits({ name: 'node-*' }, { id: 'nodes' }));
  await pass(62);
  expect(texts()).toEqual(['ALARM Heartbeat backup is overdue: it has never come']);
  await sendHeartbeat('node-1');
  await sendHeartbeat('node-2');
  await sendHeartbeat('other');
  await pass(30);
  await sendHeartbeat('node-2');
  await pass(32);
  expect(notified.slice(1)).toMatchObject([{ key: 'node-1', cribl_notification: 'nodes', status: 'ALARM' }]);
});

it('opens at once when a failure is posted, and keeps the incident until all is well', async () => {
  await start(waits());
  await sendHeartbeat();
  await sendHeartbeat('backup', 'ALARM', { fields: { code: 2 } });
  expect(notified).toMatchObject([{ status: 'ALARM', _raw: 'Heartbeat backup reports a failure', code: 2 }]);
  await pass(5);
  expect(notified).toHaveLength(1);
  await sendHeartbeat();
  expect(notified).toHaveLength(2);
  expect(notified[1]).toMatchObject({ status: 'OK' });
});

it('notifies again each window when resolution is not notified', async () => {
  await start(waits({ notifyOnResolution: false }));
  await pass(185);
  expect(notified.map(({ status }) => status)).toEqual(['ALARM', 'ALARM', 'ALARM']);
});

it('waits one window after a restart, remembers the last heartbeat, and ends an open incident with a heartbeat alone', async () => {
  await start(waits(), waits({ name: 'node-*' }, { id: 'nodes' }));
  await sendHeartbeat();
  await sendHeartbeat('node-1');
  const due = new Date(clock.now() + 60_000).toISOString().replace(/\.\d+/, '');
  await pass(50);
  await engine.stop();
  await clock.advance(3_600_000);
  engine = create();
  await start(waits(), waits({ name: 'node-*' }, { id: 'nodes' }));
  await pass(58);
  expect(texts()).toEqual([]);
  await pass(4);
  expect(texts()).toEqual([
    `ALARM Heartbeat backup is overdue since ${due}`,
    `ALARM Heartbeat node-1 is overdue since ${due}`,
  ]);
  await engine.stop();
  engine = create();
  await start(waits(), waits({ name: 'node-*' }, { id: 'nodes' }));
  await pass(30);
  expect(notified).toHaveLength(2);
  await sendHeartbeat();
  expect(texts()[2]).toMatch(/^OK Heartbeat backup has come again/);
});

it('answers that it cannot be written, and ends the incident as soon as it can', async () => {
  await start(waits());
  await pass(62);
  refuse = new AppError('unavailable', 'the disk is full');
  await expect(sendHeartbeat()).rejects.toMatchObject({ code: 'unavailable' });
  refuse = undefined;
  await pass(1);
  // An end is written after its alarm was read.
  await until(() => notified.length > 1, 'the end');
  expect(notified.map(({ status }) => status)).toEqual(['ALARM', 'OK']);
});

it('refuses the setting for, and more names than the limit', async () => {
  expect(() => waits({}, { for: '5m' })).toThrow('let the timeWindow be longer');
  await start(waits({ name: '*' }));
  const many = Array.from({ length: 10_001 }, (_, at) => ({
    condition: 'heartbeat' as const,
    key: `n${at}`,
    state: 'OK' as const,
  }));
  await expect(engine.receive('cron', many)).rejects.toMatchObject({ code: 'unprocessable' });
});
