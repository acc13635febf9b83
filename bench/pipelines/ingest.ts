import { setTimeout as pause } from 'node:timers/promises';
import { median, printGoal, printTable, spread } from '../delivery/table.ts';
import { removeTemporaryFolders, temporaryFolder } from '../delivery/temporary.ts';
import { usageOf } from '../delivery/usage.ts';
import { headgate } from './headgate.ts';
import type { Bench } from './part.ts';
import { findPrometheus, LAZY_SEC, PROMPT_SEC } from './prometheus.ts';
import { INTERVAL_SEC, untilAllIsKnown, type WatcherKind } from './watcher.ts';

interface Reading {
  /** Seconds of processor time for each second. */
  readonly cpu: number;
  readonly peakMb: number;
  /** The same for the process that serves the pages. */
  readonly worldCpu: number;
}

/** From when everything is known and has been read once more. */
async function read(kind: WatcherKind, { world, seconds }: Bench): Promise<Reading> {
  const watcher = await kind.start(world, temporaryFolder());
  try {
    await untilAllIsKnown(watcher);
    await pause(2 * INTERVAL_SEC * 1000);
    const [before, worldBefore, begun] = [watcher.usage(), usageOf(world.pid), performance.now()];
    await pause(seconds * 1000);
    const took = (performance.now() - begun) / 1000;
    const after = watcher.usage();
    return {
      cpu: (after.cpuSec - before.cpuSec) / took,
      peakMb: after.peakMb,
      worldCpu: (usageOf(world.pid).cpuSec - worldBefore.cpuSec) / took,
    };
  } finally {
    await watcher.end();
    removeTemporaryFolders();
  }
}

const column = (readings: readonly Reading[], of: keyof Reading, digits: number): string =>
  spread(
    readings.map(one => one[of]),
    digits,
  );

/** All systems read the same pages, one after the other. */
export async function ingest(bench: Bench): Promise<void> {
  const lazy = findPrometheus(LAZY_SEC);
  const prompt = findPrometheus(PROMPT_SEC);
  const peers = [lazy, prompt].filter(kind => kind !== undefined);
  if (peers.length === 0) console.log('  Prometheus or Alertmanager is not installed, both are left out');
  const results = new Map<WatcherKind, Reading[]>([...peers, headgate].map(kind => [kind, []]));
  for (let turn = 0; turn < bench.runs; turn++)
    for (const [kind, readings] of results) readings.push(await read(kind, bench));
  printTable(
    ['median (least-most)', 'CPU s per s', 'peak MB', 'CPU s per s of the pages'],
    [...results].map(([{ name, version }, readings]) => [
      `${name} (${version})`,
      column(readings, 'cpu', 3),
      column(readings, 'peakMb', 0),
      column(readings, 'worldCpu', 3),
    ]),
  );
  const of = (kind: WatcherKind, figure: 'cpu' | 'peakMb'): number =>
    median((results.get(kind) ?? []).map(one => one[figure]));
  for (const peer of peers) {
    printGoal(`CPU of ${peer.name}`, of(headgate, 'cpu') / of(peer, 'cpu'), '<=', 0.25);
    printGoal(`peak memory of ${peer.name}`, of(headgate, 'peakMb') / of(peer, 'peakMb'), '<=', 0.15);
  }
}
