import { headgate } from './headgate.ts';
import { type Poster, pause } from './poster.ts';
import { alarms, alive, type Bench, onlyHook, type Scenario, setupFor } from './scenario.ts';
import type { RunningSystem, SystemKind } from './system.ts';
import { printTable } from './table.ts';

const RELOADS = 20;
const RATE = 100;
const EVERY_MS = 250;

async function reloadAll(system: RunningSystem): Promise<void> {
  for (let round = 1; round <= RELOADS; round++) {
    await system.reload(round);
    await pause(EVERY_MS);
  }
}

async function reloaded(kind: SystemKind, { sink }: Bench): Promise<string[]> {
  const setup = setupFor(sink, ['reloads']);
  const hook = onlyHook(setup);
  const events = alarms((RATE * (RELOADS * EVERY_MS)) / 1000);
  await alive(kind.start, setup, async (system: RunningSystem, poster: Poster) => {
    await Promise.all([poster.paced(events, RATE), reloadAll(system)]);
    await sink.arrived(hook, events.length, 10_000);
    await pause(1000);
  });
  const { unique, repeated, doubled } = await sink.report(hook);
  return [kind.name, ...[events.length - unique, repeated + doubled].map(String)];
}

export const reloadsScenario: Scenario = {
  id: 'S11',
  title: `${RELOADS} reloads of a changed configuration under ${RATE}/s (goal: none lost, none doubled)`,
  async run(bench) {
    const rows: string[][] = [];
    for (const kind of [...(bench.alertmanager ? [bench.alertmanager] : []), headgate])
      rows.push(await reloaded(kind, bench));
    printTable(['', 'lost', 'doubled'], rows);
  },
};
