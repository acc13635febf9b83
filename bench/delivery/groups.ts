import { headgate } from './headgate.ts';
import { pause } from './poster.ts';
import { alarms, alive, type Bench, onlyHook, type Scenario, setupFor } from './scenario.ts';
import type { SystemKind } from './system.ts';
import { printTable } from './table.ts';
import { usageOf } from './usage.ts';

const GROUPS = 100;
const WAIT_SEC = 5;

async function grouped(kind: SystemKind, ageSec: number, { sink, isQuick }: Bench): Promise<string[]> {
  const count = isQuick ? 1000 : 10_000;
  const setup = setupFor(sink, ['groups'], { groupWaitSec: WAIT_SEC, requests: 'default' });
  const events = alarms(count, { ageSec }).map((event, index) => ({
    ...event,
    group: `group-${index % GROUPS}`,
  }));
  const usage = await alive(kind.start, setup, async ({ pid }, poster) => {
    const before = usageOf(pid).cpuSec;
    await poster.burst(events);
    await sink.arrived(onlyHook(setup), count, WAIT_SEC * 1000 + 3000);
    await pause(500);
    const after = usageOf(pid);
    return { ...after, cpuSec: after.cpuSec - before };
  });
  const { requests, inFirstHundred, unique } = await sink.report(onlyHook(setup));
  return [
    `${kind.name}, began ${ageSec === 0 ? 'now' : `${ageSec} s ago`}`,
    requests.toString(),
    `${((inFirstHundred / count) * 100).toFixed(0)} %`,
    (count - unique).toString(),
    usage.peakMb.toFixed(0),
    usage.cpuSec.toFixed(2),
  ];
}

export const groupsScenario: Scenario = {
  id: 'S3',
  title: `events in ${GROUPS} groups that wait ${WAIT_SEC} s (goal: 100 messages with everything, 100 MB)`,
  async run(bench) {
    const rows: string[][] = [];
    for (const ageSec of [0, 10])
      for (const kind of [...(bench.alertmanager ? [bench.alertmanager] : []), headgate])
        rows.push(await grouped(kind, ageSec, bench));
    printTable(['', 'messages', 'events in the first 100', 'not within 8 s', 'peak MB', 'CPU s'], rows);
  },
};
