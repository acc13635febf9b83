import { mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../src/lib/clock.ts';
import { silentLogger } from '../src/lib/logger.ts';
import { openStorage } from '../src/storage/open.ts';
import type { StorageOperation } from '../src/storage/operations/operation.ts';
import type { Storage } from '../src/storage/storage.ts';
import type { Lease } from '../src/storage/stores/leases.ts';
import { createPostgresDatabase, findPostgres } from '../test/helpers/postgres.ts';
import { deliveryOf, incidentRow, settle, transition } from '../test/storage/rows.ts';

const SINGLE = 1_000;
const BATCHED = 20_000;
const LEASE_MS = 3_600_000;
/** How many callers wait for a commit at a time when they are batched. */
const AT_ONCE = 500;

interface Measured {
  readonly perSecond: number;
  /** Of this process, its threads included; the database server's own is not in it. */
  readonly cpuMs: number;
}

async function measure(count: number, work: () => Promise<void>): Promise<Measured> {
  const begun = performance.now();
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return {
    perSecond: (count / (performance.now() - begun)) * 1000,
    cpuMs: (user + system) / 1000 / count,
  };
}

interface Writer {
  readonly storage: Storage;
  readonly lease: Lease;
}

/** Commits all of them as the product does, `callers` at a time, each caller waiting for its own. */
async function commitAll(
  { storage, lease }: Writer,
  operations: readonly StorageOperation[],
  callers: number,
): Promise<void> {
  const left = operations.values();
  const caller = async (): Promise<void> => {
    for (const operation of left) await storage.commit(operation, lease);
  };
  await Promise.all(Array.from({ length: callers }, caller));
}

/** 700 bytes of event, as a webhook gets it. */
const BODY = JSON.stringify({ filler: 'x'.repeat(686) });

async function measureStore(name: string, storage: Storage): Promise<void> {
  const lease = await storage.leases.take('engine:default', 'bench', LEASE_MS);
  if (lease === undefined) throw new Error('a new database has a lease already');
  const writer = { storage, lease };
  for (const [how, count, callers] of [
    ['single', SINGLE, 1],
    ['batched', BATCHED, AT_ONCE],
  ] as const) {
    const transitions = Array.from({ length: count }, (_, index) =>
      transition(incidentRow({ subject: `${how}:${index}` }), { body: BODY }),
    );
    const settlements = transitions.map(one => settle(deliveryOf(one)));
    print(name, `enqueue, ${how}`, await measure(count, () => commitAll(writer, transitions, callers)));
    print(name, `settle, ${how}`, await measure(count, () => commitAll(writer, settlements, callers)));
  }
}

function print(name: string, what: string, { perSecond, cpuMs }: Measured): void {
  console.log(
    [
      name.padEnd(12),
      what.padEnd(20),
      Math.round(perSecond).toString().padStart(10),
      cpuMs.toFixed(3).padStart(14),
    ].join(''),
  );
}

async function withStore(url: string, work: (storage: Storage) => Promise<void>): Promise<void> {
  const dataFolder = mkdtempSync(join(tmpdir(), 'headgate-bench-'));
  const storage = await openStorage({ url, dataFolder, logger: silentLogger, clock: systemClock });
  try {
    await work(storage);
  } finally {
    await storage.close();
    rmSync(dataFolder, { recursive: true, force: true });
  }
}

console.log(`node ${process.version}, ${availableParallelism()} cores, load ${loadavg()[0]?.toFixed(1)}`);
console.log(
  ['store'.padEnd(12), 'what'.padEnd(20), 'per second'.padStart(10), 'CPU ms each'.padStart(14)].join(''),
);
await withStore('sqlite:headgate.db', storage => measureStore('SQLite', storage));
const endPostgres = await findPostgres();
try {
  const database = await createPostgresDatabase();
  try {
    await withStore(database.url, storage => measureStore('PostgreSQL', storage));
  } finally {
    await database.remove();
  }
} finally {
  endPostgres();
}
