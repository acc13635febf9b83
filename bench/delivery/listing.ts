import { headgate } from './headgate.ts';
import { alarms, alive, type Bench, type Scenario, setupFor } from './scenario.ts';
import type { SystemKind } from './system.ts';
import { percentile, printGoal, printTable } from './table.ts';
import { usageOf } from './usage.ts';

interface Listing {
  readonly p50: number;
  readonly p95: number;
  readonly kilobytes: number;
  readonly peakMb: number;
}

function listed(kind: SystemKind, bench: Bench): Promise<Listing> {
  const count = bench.isQuick ? 1000 : 10_000;
  const reads = kind === headgate ? 100 : 10;
  return alive(kind.start, setupFor(bench.sink, [], { isQuiet: true }), async (system, poster) => {
    await poster.burst(alarms(count));
    const took: number[] = [];
    let bytes = 0;
    for (let read = 0; read < reads; read++) {
      const begun = performance.now();
      const answer = await fetch(`${system.origin}${system.list.path}`, { headers: system.list.headers });
      bytes = (await answer.arrayBuffer()).byteLength;
      took.push(performance.now() - begun);
      if (!answer.ok) throw new Error(`a page was answered with ${answer.status}`);
    }
    return {
      p50: percentile(took, 0.5),
      p95: percentile(took, 0.95),
      kilobytes: bytes / 1024,
      peakMb: usageOf(system.pid).peakMb,
    };
  });
}

export const listingScenario: Scenario = {
  id: 'S10',
  title:
    'what is in alarm, asked for while 10,000 subjects are: a page of 50 of Headgate, all of Alertmanager, which has no pages',
  async run(bench) {
    const rows: string[][] = [];
    for (const kind of [...(bench.alertmanager ? [bench.alertmanager] : []), headgate]) {
      const { p50, p95, kilobytes, peakMb } = await listed(kind, bench);
      rows.push([kind.name, p50.toFixed(1), p95.toFixed(1), kilobytes.toFixed(0), peakMb.toFixed(0)]);
      if (kind === headgate) {
        printTable(['', 'p50 ms', 'p95 ms', 'KB', 'peak MB'], rows);
        printGoal('p95 of a page in ms', p95, '<=', 50);
      }
    }
  },
};
