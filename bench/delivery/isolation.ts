import { headgate } from './headgate.ts';
import { alarms, alive, type Bench, type Scenario, setupFor, WARM_UP_SEC, warmUp } from './scenario.ts';
import type { Report } from './sink-protocol.ts';
import type { SystemKind } from './system.ts';
import { printGoal, printTable } from './table.ts';

const RATE = 100;

/** What the healthy receiver saw, alone or beside a slow and a dead one. */
async function healthy(kind: SystemKind, isAlone: boolean, { sink, isQuick }: Bench): Promise<Report> {
  const setup = setupFor(sink, isAlone ? ['healthy'] : ['healthy', 'slow', 'dead'], { againSec: 10 });
  const [hook, slow, dead] = setup.hooks;
  if (hook === undefined) throw new Error('there is no receiver');
  if (slow) await sink.behave(slow, { delayMs: 200 });
  if (dead) await sink.behave(dead, { mode: 'hang' });
  const events = alarms(RATE * (isQuick ? 2 : 6));
  await alive(kind.start, setup, async (_system, poster) => {
    await warmUp(poster, sink, hook, RATE);
    await poster.paced(events, RATE);
    await sink.arrived(hook, events.length, 5000);
  });
  return sink.report(hook);
}

export const isolationScenario: Scenario = {
  id: 'S4',
  title: `${RATE}/s to a healthy receiver beside one that takes 200 ms and one that never answers; ${WARM_UP_SEC} s before are not counted`,
  async run(bench) {
    const rows: string[][] = [];
    for (const kind of [...(bench.alertmanager ? [bench.alertmanager] : []), headgate]) {
      const alone = await healthy(kind, true, bench);
      const beside = await healthy(kind, false, bench);
      rows.push([kind.name, ...[alone.p50, beside.p50, alone.p99, beside.p99].map(ms => ms.toFixed(1))]);
      if (kind === headgate) {
        printTable(['', 'p50 ms alone', 'beside', 'p99 ms alone', 'beside'], rows);
        printGoal('p99 beside them, of that alone', beside.p99 / alone.p99, '<=', 1.2);
      }
    }
  },
};
