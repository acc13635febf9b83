import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type TestClock, testClock } from '../../test/helpers/clock.ts';
import { openTestStorage, type TestStorage } from '../../test/helpers/storage.ts';
import { until } from '../../test/helpers/until.ts';
import { closed, deliveryOf, incidentRow, settle, transition, versionRow } from '../../test/storage/rows.ts';
import { systemClock } from '../lib/clock.ts';
import { monotonicIds } from '../lib/ids.ts';
import { silentLogger } from '../lib/logger.ts';
import { startApp } from './app.ts';
import {
  createRetentionSweep,
  type RetentionPeriods,
  type RetentionSweep,
  type SweepOptions,
} from './sweeps.ts';

const DAY_MS = 86_400_000;
const START = Date.UTC(2026, 0, 1);
const KEEPING: RetentionPeriods = {
  deliveries: DAY_MS,
  incidents: DAY_MS,
  versions: DAY_MS,
  messages: DAY_MS,
  audit: DAY_MS,
  minutes: DAY_MS,
  hours: DAY_MS,
};

let store: TestStorage;
let clock: TestClock;
let sweep: RetentionSweep | undefined;
let removed: Record<string, number>;
let logged: string[];

beforeEach(async () => {
  store = await openTestStorage();
  clock = testClock(START + 10 * DAY_MS);
  removed = {};
  logged = [];
});
afterEach(async () => {
  await sweep?.stop();
  sweep = undefined;
  await store.close();
});

function start(
  keeping: Partial<RetentionPeriods> = {},
  storage: Pick<typeof store.storage, 'in' | 'transaction'> = store.storage,
  more: Partial<SweepOptions> = {},
) {
  sweep = createRetentionSweep({
    workspaces: async () => ['default'],
    storage,
    clock,
    logger: { ...silentLogger, error: (_, message) => void logged.push(message) },
    retention: () => ({ ...KEEPING, ...keeping }),
    removed: (kind, count) => {
      removed[kind] = (removed[kind] ?? 0) + count;
    },
    ...more,
  });
  sweep.start();
}

async function commitOver(count: number): Promise<void> {
  for (let index = 0; index < count; index++) {
    const incident = incidentRow({ subject: `input${index}` });
    const alarm = transition(incident);
    const end = transition(closed(incident));
    for (const operation of [alarm, end]) await store.storage.commit(operation);
    for (const operation of [alarm, end]) await store.storage.commit(settle(deliveryOf(operation)));
  }
}

/** The clock stands still while the disk works, so it is moved until the sweep has done it. */
const untilSwept = (isDone: () => boolean) =>
  until(async () => {
    await clock.advance(20);
    return isDone();
  });

it('waits a minute after the start, then removes what is over in an order that leaves nothing behind', async () => {
  await commitOver(2);
  start();
  await clock.advance(59_000);
  expect(removed).toEqual({});
  await clock.advance(1_000);
  await untilSwept(() => removed.messages === 1);
  expect(removed).toEqual({ deliveries: 4, events: 4, incidents: 2, messages: 1 });
});

it('removes more than one batch holds', async () => {
  await store.storage.transaction(async tx => {
    for (let index = 0; index < 600; index++) await tx.in('default').addVersion(versionRow());
  });
  start();
  await clock.advance(60_000);
  await untilSwept(() => removed.versions === 580);
  expect(await store.storage.in('default').versions.count()).toBe(20);
});

it('keeps an incident as long as its deliveries', async () => {
  await commitOver(1);
  start({ deliveries: 20 * DAY_MS });
  await clock.advance(60_000);
  await untilSwept(() => removed.messages === 1);
  expect(removed).toEqual({ messages: 1 });
});

it('forgets the ids of external events with the deliveries, and the oldest of more than a store has room for', async () => {
  const past = testClock(START);
  const ids = monotonicIds(past);
  const receive = async (...events: string[]) => {
    for (const event of events) {
      const rows = [{ id: ids.next(), event }];
      await store.storage.commit({ kind: 'receive', workspace: 'default', rows });
      await past.advance(1);
    }
  };
  const { events } = store.storage.in('default');
  await receive('old');
  await past.advance(6 * DAY_MS);
  await receive('a', 'b', 'c', 'd');
  start({ deliveries: 5 * DAY_MS }, store.storage, { maxReceived: 3 });
  await clock.advance(60_000);
  await untilSwept(() => removed.received === 2);
  expect((await events.known(['old', 'a', 'b', 'c', 'd'])).received.toSorted()).toEqual(['b', 'c', 'd']);
});

it('comes again every ten minutes, also after it failed', async () => {
  await commitOver(1);
  let failures = 2;
  start(
    {},
    {
      in: store.storage.in,
      async transaction(work, ...rest) {
        if (failures-- > 0) throw new Error('the disk is full');
        return store.storage.transaction(work, ...rest);
      },
    },
  );
  await clock.advance(60_000);
  await untilSwept(() => logged.length === 1);
  expect(removed).toEqual({});
  await clock.advance(600_000);
  await untilSwept(() => failures === 0);
  await clock.advance(600_000);
  await untilSwept(() => removed.deliveries === 2);
  expect(logged).toEqual(['what is old cannot be removed']);
});

it('is part of the product, by the times of its settings', async () => {
  await commitOver(1);
  await store.storage.close();
  const configFolder = join(store.folder, 'config');
  await mkdir(configFolder);
  await writeFile(
    join(configFolder, 'headgate.yml'),
    'retention: { deliveries: 9d, incidents: 9d, messages: 400d }',
  );
  const app = await startApp({
    configFolder,
    dataFolder: store.folder,
    flags: { 'api.port': '0' },
    environment: { HEADGATE_ADMIN_PASSWORD: 'a password of the test' },
    clock: {
      ...systemClock,
      now: () => START + 10 * DAY_MS,
      // Nobody waits a minute for the first sweep.
      sleep: (ms, signal) => systemClock.sleep(ms === 60_000 ? 0 : ms, signal),
    },
    ids: monotonicIds(systemClock),
    random: Math.random,
    logger: silentLogger,
  });
  try {
    await until(async () => {
      const metrics = await (await fetch(`${app.url}/metrics`)).text();
      return metrics.includes('headgate_retention_removed_total{kind="incidents"} 1');
    });
    const metrics = await (await fetch(`${app.url}/metrics`)).text();
    expect(metrics).toContain('headgate_retention_removed_total{kind="deliveries"} 2');
    expect(metrics).not.toContain('headgate_retention_removed_total{kind="messages"}');
  } finally {
    await app.stop();
  }
});
