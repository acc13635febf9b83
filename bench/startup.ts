import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Served, startServer } from '../test/acceptance/bin.ts';

const RUNS = 7;
const IDLE_MS = 5000;

interface Measured {
  readonly readyMs: number;
  readonly idleMb: number;
}

/** Starts the built bin on the folders and stops it again. */
async function measure(root: string, idleMs: number): Promise<Measured> {
  const begun = performance.now();
  const server = await startServer({ config: join(root, 'config'), data: join(root, 'data') });
  try {
    const readyMs = performance.now() - begun;
    await new Promise(resolve => setTimeout(resolve, idleMs));
    return { readyMs, idleMb: residentMb(server) };
  } finally {
    server.signal('SIGTERM');
    await server.ended;
  }
}

function residentMb({ pid }: Served): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024;
}

/** Whatever runs in the same folder finds the store of the run before. */
async function inFolder<Result>(run: (root: string) => Promise<Result>): Promise<Result> {
  const root = mkdtempSync(join(tmpdir(), 'headgate-bench-'));
  try {
    return await run(root);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

async function times<Result>(count: number, run: () => Promise<Result>): Promise<Result[]> {
  const results: Result[] = [];
  for (let index = 0; index < count; index++) results.push(await run());
  return results;
}

function row(what: string, values: readonly number[], goal: number, unit: string): string {
  const sorted = [...values].sort((one, other) => one - other);
  const median = sorted[sorted.length >> 1] ?? Number.NaN;
  const texts = [median, sorted[0], sorted.at(-1)].map(value => `${Math.round(value ?? Number.NaN)} ${unit}`);
  const verdict = median <= goal ? 'reached' : 'missed';
  return [
    what.padEnd(28),
    ...[...texts, `<= ${goal} ${unit}`].map(text => text.padStart(12)),
    `  ${verdict}`,
  ].join('');
}

const first = await times(RUNS, () => inFolder(root => measure(root, 0)));
const again = await inFolder(async root => {
  await measure(root, 0);
  return times(RUNS, () => measure(root, 0));
});
const idle = await inFolder(root => times(3, () => measure(root, IDLE_MS)));

console.log(`node ${process.version}, ${availableParallelism()} cores, load ${loadavg()[0]?.toFixed(1)}`);
console.log(
  ['what'.padEnd(28), ...['median', 'least', 'most', 'goal'].map(text => text.padStart(12))].join(''),
);
console.log(
  row(
    'start to ready, first start',
    first.map(one => one.readyMs),
    2000,
    'ms',
  ),
);
console.log(
  row(
    'start to ready, with a store',
    again.map(one => one.readyMs),
    1000,
    'ms',
  ),
);
console.log(
  row(
    `idle memory after ${IDLE_MS / 1000} s`,
    idle.map(one => one.idleMb),
    130,
    'MB',
  ),
);
