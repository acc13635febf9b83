import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { observedClockOf, type TestClock, testClock } from '../../test/helpers/clock.ts';
import { type TestComponents, testComponents } from '../../test/helpers/components.ts';
import { createPostgresDatabase, type TestPostgresDatabase } from '../../test/helpers/postgres.ts';
import { testEngine } from '../../test/helpers/test-engine.ts';
import type { HeadgateEvent } from '../events/event.ts';
import { systemClock } from '../lib/clock.ts';
import { silentLogger } from '../lib/logger.ts';
import type { Component } from '../pipelines/components/component.ts';
import { openStorage } from '../storage/open.ts';
import type { Storage } from '../storage/storage.ts';
import type { Target } from '../targets/target.ts';
import type { Engine } from './engine.ts';
import { configureNotification, type Notification } from './notification.ts';

/** A process with the lease of the workspace: it has its own clock, components and memory, and the database of all. */
interface Process {
  readonly storage: Storage;
  readonly components: TestComponents;
  readonly app: Component;
  readonly engine: Engine;
}

const hook: Target = {
  settings: { id: 'hook', type: 'test', systemFields: [] },
  concurrency: 1,
  fallback: undefined,
  batching: undefined,
  send: async () => ({ kind: 'sent' }),
  bulletinText: () => undefined,
};

let database: TestPostgresDatabase;
let clock: TestClock;
let events: HeadgateEvent[];
let leader: Process;
const undo: (() => Promise<unknown>)[] = [];

beforeEach(async () => {
  database = await createPostgresDatabase();
  clock = testClock();
  events = [];
});
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
  await database.remove();
});

async function lead(notification: Notification): Promise<void> {
  const dataFolder = await mkdtemp(join(tmpdir(), 'headgate-takeover-'));
  const storage = await openStorage({
    url: database.url,
    dataFolder,
    logger: silentLogger,
    clock: systemClock,
  });
  const observedClock = observedClockOf(clock);
  const components = testComponents(observedClock);
  const app = components.add('app');
  const engine = testEngine({
    ...{ storage, components, clock, observedClock },
    outbox: { enqueue: (rows, event) => void events.push(...rows.map(() => event)), readFrom: () => {} },
  });
  undo.push(async () => {
    await engine.stop();
    await storage.close();
    await rm(dataFolder, { recursive: true, force: true });
  });
  engine.configure([notification], [hook]);
  await engine.start();
  leader = { storage, components, app, engine };
}

/** Another process leads, so long after the last one did for the last time. */
async function takeOver(notification: Notification, afterMs: number): Promise<void> {
  await leader.engine.stop();
  await clock.freeze(afterMs);
  await lead(notification);
}

async function pass(seconds: number, hasData: boolean): Promise<void> {
  for (let second = 0; second < seconds; second++) {
    if (hasData) leader.components.data(leader.app);
    await clock.advance(1000);
    // The writer answers in order: a read transaction behind the commits returns after them.
    await leader.storage.transaction(async () => {});
    await clock.advance(0);
  }
}

const withData = (seconds: number): Promise<void> => pass(seconds, true);
const without = (seconds: number): Promise<void> => pass(seconds, false);
const statuses = (): string[] => events.map(({ status }) => status);

const silent = (settings: object): Notification =>
  configureNotification({
    id: 'silent',
    condition: 'no-data',
    targets: ['hook'],
    conf: { name: 'syslog:app', timeWindow: '5s' },
    ...settings,
  });

const row = async () =>
  (await leader.storage.in('default').incidents.list({}, { offset: 0, limit: 1 })).rows[0];

it('an alarm that is kept is ended by the process that takes over, once its time has passed while one led', async () => {
  const notification = silent({ keepFiringFor: '30s' });
  await lead(notification);
  await without(7);
  await withData(20);
  const unmetSince = (await row())?.unmet_since;
  expect(unmetSince).toEqual(expect.any(Number));
  await takeOver(notification, 3_600_000);
  await withData(1);
  expect(statuses()).toEqual(['ALARM']);
  await withData(7);
  expect(statuses()).toEqual(['ALARM']);
  for (let time = 0; time < 5; time++) {
    await takeOver(notification, 60_000);
    await withData(1);
  }
  expect(statuses()).toEqual(['ALARM', 'OK']);
  expect(new Set(events.map(({ incidentId }) => incidentId)).size).toBe(1);
});

it('an alarm that is kept and met again stays the same over a takeover, and nobody is notified twice', async () => {
  const notification = silent({ keepFiringFor: '30s' });
  await lead(notification);
  await without(7);
  await withData(10);
  await takeOver(notification, 60_000);
  await without(8);
  expect(statuses()).toEqual(['ALARM']);
  expect(await row()).toMatchObject({ state: 'open', unmet_since: null });
  await withData(29);
  await takeOver(notification, 60_000);
  await withData(4);
  expect(statuses()).toEqual(['ALARM', 'OK']);
});

it('a flapping alarm keeps its count over takeovers, and ends after a quiet window of those who led', async () => {
  const notification = silent({ flapThreshold: 4, flapWindow: '1m' });
  await lead(notification);
  for (let time = 0; time < 2; time++) {
    await withData(1);
    await without(6);
  }
  await withData(1);
  await takeOver(notification, 10_000);
  await without(6);
  expect(statuses()).toEqual(['ALARM', 'OK', 'ALARM', 'OK', 'ALARM']);
  expect(events.at(-1)).toMatchObject({ flapping: true, changes: 5 });
  await takeOver(notification, 10_000);
  expect(await row()).toMatchObject({ flapping_changes: 5 });
  await withData(40);
  await takeOver(notification, 3_600_000);
  await withData(10);
  expect(statuses()).toHaveLength(5);
  await withData(15);
  expect(statuses().slice(4)).toEqual(['ALARM', 'OK']);
});

it('time in which the process that took over did not run ends no alarm that is kept', async () => {
  const notification = silent({ keepFiringFor: '30s' });
  await lead(notification);
  await without(7);
  await withData(10);
  await takeOver(notification, 60_000);
  await withData(5);
  await clock.freeze(120_000);
  await withData(8);
  expect(statuses()).toEqual(['ALARM']);
  await withData(10);
  expect(statuses()).toEqual(['ALARM', 'OK']);
});
