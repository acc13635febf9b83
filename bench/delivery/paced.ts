import { headgate } from './headgate.ts';
import {
  alarms,
  alive,
  type Bench,
  onlyHook,
  type Scenario,
  setupFor,
  WARM_UP_SEC,
  warmUp,
} from './scenario.ts';
import type { Report } from './sink-protocol.ts';
import type { SystemKind } from './system.ts';
import { median, printGoal, printTable, spread } from './table.ts';
import { usageOf } from './usage.ts';

const RATES = [100, 200];

interface Paced extends Report {
  readonly cpuMs: number;
}

async function paced(kind: SystemKind, perSecond: number, { sink, isQuick }: Bench): Promise<Paced> {
  const setup = setupFor(sink, ['paced']);
  const events = alarms(perSecond * (isQuick ? 2 : 8));
  const cpuSec = await alive(kind.start, setup, async ({ pid }, poster) => {
    await warmUp(poster, sink, onlyHook(setup), perSecond);
    const before = usageOf(pid).cpuSec;
    await poster.paced(events, perSecond);
    await sink.arrived(onlyHook(setup), events.length, 5000);
    return usageOf(pid).cpuSec - before;
  });
  return { ...(await sink.report(onlyHook(setup))), cpuMs: (cpuSec * 1000) / events.length };
}

const rowOf = (name: string, perSecond: number, reports: readonly Paced[]): string[] => [
  `${name}, ${perSecond}/s`,
  spread(
    reports.map(({ p50 }) => p50),
    1,
  ),
  spread(
    reports.map(({ p95 }) => p95),
    1,
  ),
  spread(
    reports.map(({ p99 }) => p99),
    1,
  ),
  spread(
    reports.map(({ cpuMs }) => cpuMs),
    2,
  ),
];

export const pacedScenario: Scenario = {
  id: 'S2',
  title: `one event a request at a steady pace, from the post to the receipt; ${WARM_UP_SEC} s before are not counted`,
  async run(bench) {
    const kinds = [...(bench.alertmanager ? [bench.alertmanager] : []), headgate];
    const rows: string[][] = [];
    const own: Paced[] = [];
    for (const rate of RATES) {
      const results = new Map<SystemKind, Paced[]>(kinds.map(kind => [kind, []]));
      for (let run = 0; run < bench.runs; run++)
        for (const [kind, reports] of results) reports.push(await paced(kind, rate, bench));
      for (const [kind, reports] of results) rows.push(rowOf(kind.name, rate, reports));
      if (rate === 200) own.push(...(results.get(headgate) ?? []));
    }
    printTable(['median (least-most)', 'p50 ms', 'p95 ms', 'p99 ms', 'CPU ms each'], rows);
    printGoal('p50 at 200/s in ms', median(own.map(({ p50 }) => p50)), '<=', 5);
    printGoal('p99 at 200/s in ms', median(own.map(({ p99 }) => p99)), '<=', 25);
  },
};
