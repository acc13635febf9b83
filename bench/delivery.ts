import { availableParallelism, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { findAlertmanager } from './delivery/alertmanager.ts';
import { answersScenario, limitScenario } from './delivery/answers.ts';
import { refuse, wholeNumber } from './delivery/arguments.ts';
import { burstScenario } from './delivery/burst.ts';
import { killScenario, outageScenario, repeatsScenario } from './delivery/durability.ts';
import { groupsScenario } from './delivery/groups.ts';
import { headgate } from './delivery/headgate.ts';
import { isolationScenario } from './delivery/isolation.ts';
import { listingScenario } from './delivery/listing.ts';
import { pacedScenario } from './delivery/paced.ts';
import { reloadsScenario } from './delivery/reloads.ts';
import type { Bench, Scenario } from './delivery/scenario.ts';
import { openSink } from './delivery/sink.ts';
import { endWithin, removeTemporaryFolders } from './delivery/temporary.ts';

const MOST_MINUTES = 30;
/** As many incidents of one notification may be open. */
const MOST_EVENTS = 100_000;

const SCENARIOS: readonly Scenario[] = [
  burstScenario,
  pacedScenario,
  groupsScenario,
  isolationScenario,
  killScenario,
  outageScenario,
  repeatsScenario,
  answersScenario,
  limitScenario,
  listingScenario,
  reloadsScenario,
];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    runs: { type: 'string' },
    events: { type: 'string' },
    quick: { type: 'boolean', default: false },
  },
});

function chosen(): readonly Scenario[] {
  const unknown = positionals.filter(id => !SCENARIOS.some(one => one.id === id));
  if (unknown.length > 0)
    refuse(`no scenario ${unknown.join(', ')}; there are ${SCENARIOS.map(({ id }) => id).join(', ')}`);
  return positionals.length === 0 ? SCENARIOS : SCENARIOS.filter(({ id }) => positionals.includes(id));
}

function printHeading({ alertmanager, runs }: Bench): void {
  const peer = alertmanager === undefined ? 'not installed, left out' : alertmanager.version;
  console.log(
    `node ${process.version}, ${availableParallelism()} cores, load ${loadavg()[0]?.toFixed(1)}; Headgate ${headgate.version}, Alertmanager ${peer}; S1 and S2 in ${runs} runs by turns`,
  );
}

endWithin(MOST_MINUTES);
const scenarios = chosen();
const isQuick = values.quick;
const bench: Bench = {
  sink: await openSink(),
  alertmanager: findAlertmanager(),
  runs: wholeNumber('runs', values.runs ?? (isQuick ? '1' : '3'), [1, 100]),
  events: wholeNumber('events', values.events ?? (isQuick ? '2000' : '20000'), [1, MOST_EVENTS]),
  isQuick,
};
printHeading(bench);
for (const scenario of scenarios) {
  console.log(`\n${scenario.id}: ${scenario.title} (load ${loadavg()[0]?.toFixed(1)})`);
  await scenario.run(bench);
  removeTemporaryFolders();
}
bench.sink.end();
