import { mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRetentionSweep } from '../src/app/sweeps.ts';
import { type Clock, systemClock } from '../src/lib/clock.ts';
import { silentLogger } from '../src/lib/logger.ts';
import { openStorage } from '../src/storage/open.ts';
import type { StorageOperation } from '../src/storage/operations/operation.ts';
import type { Storage } from '../src/storage/storage.ts';
import { createPostgresDatabase, findPostgres } from '../test/helpers/postgres.ts';
import { closed, deliveryOf, incidentRow, settle, transition } from '../test/storage/rows.ts';

/** Two deliveries, two events and one incident each: 100,000 rows. */
const INCIDENTS = 20_000;
const DAY_MS = 86_400_000;
const BODY = JSON.stringify({ filler: 'x'.repeat(686) });

/** A year on, and without the wait before the first sweep. */
const later: Clock = {
  ...systemClock,
  now: () => systemClock.now() + 366 * DAY_MS,
  sleep: (ms, signal) => systemClock.sleep(ms === 60_000 ? 0 : ms, signal),
};

async function fill(storage: Storage): Promise<void> {
  const commitAll = (operations: readonly StorageOperation[]) =>
    Promise.all(operations.map(one => storage.commit(one)));
  for (let done = 0; done < INCIDENTS; done += 1000) {
    const incidents = Array.from({ length: 1000 }, (_, at) => incidentRow({ subject: `input${done + at}` }));
    const alarms = incidents.map(row => transition(row, { body: BODY }));
    const ends = incidents.map(row => transition(closed(row), { body: BODY }));
    await commitAll(alarms);
    await commitAll(ends);
    await commitAll([...alarms, ...ends].map(one => settle(deliveryOf(one))));
  }
}

/** Sweeps while somebody commits one operation after the other, and says how long each of these took. */
async function measure(name: string, storage: Storage, filled: () => Promise<void>): Promise<void> {
  await fill(storage);
  await filled();
  let removed = 0;
  const day = {
    deliveries: DAY_MS,
    incidents: DAY_MS,
    versions: DAY_MS,
    messages: DAY_MS,
    audit: DAY_MS,
    minutes: DAY_MS,
    hours: DAY_MS,
  };
  const sweep = createRetentionSweep({
    workspaces: async () => ['default'],
    storage,
    clock: later,
    logger: silentLogger,
    retention: () => day,
    removed: (_, count) => {
      removed += count;
    },
  });
  const begun = performance.now();
  sweep.start();
  const waits: number[] = [];
  while (removed < INCIDENTS * 5) {
    if (performance.now() - begun > 120_000)
      throw new Error(`only ${removed} rows were removed in two minutes`);
    const asked = performance.now();
    await storage.commit(transition(incidentRow({ subject: `new${waits.length}` }), { targets: [] }));
    waits.push(performance.now() - asked);
  }
  const seconds = (performance.now() - begun) / 1000;
  await sweep.stop();
  waits.sort((one, other) => one - other);
  const at = (share: number) => (waits[Math.floor((waits.length - 1) * share)] ?? 0).toFixed(1).padStart(10);
  console.log(`${name.padEnd(12)}${seconds.toFixed(1).padStart(10)}${at(0.5)}${at(0.99)}${at(1)}`);
}

async function withStore(name: string, url: string, filled = async () => {}): Promise<void> {
  const dataFolder = mkdtempSync(join(tmpdir(), 'headgate-bench-'));
  const storage = await openStorage({ url, dataFolder, logger: silentLogger, clock: systemClock });
  try {
    await measure(name, storage, filled);
  } finally {
    await storage.close();
    rmSync(dataFolder, { recursive: true, force: true });
  }
}

console.log(`node ${process.version}, ${availableParallelism()} cores, load ${loadavg()[0]?.toFixed(1)}`);
console.log(
  `${'store'.padEnd(12)}${['seconds', 'p50 ms', 'p99 ms', 'most ms'].map(one => one.padStart(10)).join('')}`,
);
await withStore('SQLite', 'sqlite:headgate.db');
const endPostgres = await findPostgres();
try {
  const database = await createPostgresDatabase();
  try {
    // As autovacuum does in the weeks that make rows old.
    await withStore('PostgreSQL', database.url, () => database.run('vacuum analyze'));
  } finally {
    await database.remove();
  }
} finally {
  endPostgres();
}
