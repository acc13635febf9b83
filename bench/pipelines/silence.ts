import { setTimeout as pause } from 'node:timers/promises';
import { printGoal, printTable } from '../delivery/table.ts';
import { removeTemporaryFolders, temporaryFolder } from '../delivery/temporary.ts';
import { type HeadgateWatcher, headgate } from './headgate.ts';
import type { Bench } from './part.ts';
import { INTERVAL_SEC, untilAllIsKnown, WINDOW_SEC } from './watcher.ts';
import type { World } from './world.ts';
import type { Report } from './world-protocol.ts';

const PATIENCE_MS = 120_000;
const LOOK_MS = 20;
/** Nothing came for so long: nothing more will. */
const QUIET_MS = 30_000;

interface Alerted {
  readonly expected: number;
  readonly alarms: number;
  readonly summarised: number;
  readonly summaryLate: number;
  readonly requests: number;
  readonly p50: number;
  readonly p99: number;
  readonly longest: number;
  readonly slowestCallMs: number;
  readonly cpuSec: number;
  readonly peakMb: number;
}

/** Calls without a pause longer than 20 ms until the returned call, which gives the longest one: nothing else ran as long. */
function callAgainAndAgain(url: string): () => Promise<number> {
  let longest = 0;
  let over = false;
  const calling = (async () => {
    while (!over) {
      const begun = performance.now();
      await fetch(`${url}/api/v1/health`).then(answer => answer.arrayBuffer());
      longest = Math.max(longest, performance.now() - begun);
      await pause(LOOK_MS);
    }
  })();
  return async () => {
    over = true;
    await calling;
    return longest;
  };
}

/** `open` are known to be silent already. */
async function stopSome(
  { watcher, world }: { readonly watcher: HeadgateWatcher; readonly world: World },
  perPage: number,
  open: number,
): Promise<Alerted> {
  const expected = perPage * world.size.pages - open;
  await world.stop(perPage);
  const before = watcher.usage();
  const slowest = callAgainAndAgain(watcher.url);
  const windowMs = WINDOW_SEC * 1000;
  await pause(windowMs - INTERVAL_SEC * 1000);
  let last = await world.report(windowMs);
  let movedAt = performance.now();
  const toldOf = ({ alarms, summarised }: Report): number => alarms + summarised;
  const patience = (): number => (toldOf(last) === 0 ? PATIENCE_MS : QUIET_MS);
  while (toldOf(last) < expected && performance.now() - movedAt < patience()) {
    await pause(250);
    const next = await world.report(windowMs);
    if (toldOf(next) > toldOf(last)) movedAt = performance.now();
    last = next;
  }
  const after = watcher.usage();
  return {
    expected,
    ...last,
    slowestCallMs: await slowest(),
    cpuSec: after.cpuSec - before.cpuSec,
    peakMb: after.peakMb,
  };
}

/** First one component of each page stops, then all of them at once. */
export async function silence({ world }: Bench): Promise<void> {
  const watcher = await headgate.start(world, temporaryFolder());
  try {
    await untilAllIsKnown(watcher);
    await pause(2 * INTERVAL_SEC * 1000);
    const one = await stopSome({ watcher, world }, 1, 0);
    const all = await stopSome({ watcher, world }, world.size.perPage, one.expected);
    printTable(
      [
        'stopped',
        'alarms',
        'in a summary',
        'requests',
        'p50 ms',
        'p99 ms',
        'longest ms',
        'summary ms',
        'slowest call ms',
        'CPU s',
        'peak MB',
      ],
      [one, all].map(alerted => [
        alerted.expected.toString(),
        alerted.alarms.toString(),
        alerted.summarised.toString(),
        alerted.requests.toString(),
        alerted.p50.toFixed(0),
        alerted.p99.toFixed(0),
        alerted.longest.toFixed(0),
        alerted.summaryLate.toFixed(0),
        alerted.slowestCallMs.toFixed(0),
        alerted.cpuSec.toFixed(1),
        alerted.peakMb.toFixed(0),
      ]),
    );
    printGoal('seconds from the end of a window to its alarm, the longest', one.longest / 1000, '<=', 1);
  } finally {
    await watcher.end();
    removeTemporaryFolders();
  }
}
