import { CONCURRENCY, headgate } from './headgate.ts';
import { pause } from './poster.ts';
import { relay } from './relay.ts';
import { alarms, alive, type Bench, onlyHook, type Scenario, setupFor } from './scenario.ts';
import type { Setup, SystemKind } from './system.ts';
import { median, printGoal, printTable, spread } from './table.ts';
import { usageOf } from './usage.ts';

/** Nothing arrived for so long: what is missing is lost. */
const PATIENCE_MS = 15_000;
/** What is booked after the last request belongs to the work. */
const SETTLE_MS = 500;

interface Burst {
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  readonly cpuMs: number;
  readonly peakMb: number;
  readonly missing: number;
  readonly doubled: number;
  readonly requests: number;
  readonly meanBytes: number;
}

interface Participant {
  readonly name: string;
  readonly kind: SystemKind;
  readonly requests: Setup['requests'];
}

const ONE: Participant = { name: 'Headgate, one a request', kind: headgate, requests: 'one' };
const DEFAULT: Participant = { name: 'Headgate, default settings', kind: headgate, requests: 'default' };
const RELAY: Participant = { name: 'bare relay', kind: relay, requests: 'one' };

function burst({ kind, requests }: Participant, { sink, events }: Bench): Promise<Burst> {
  const setup = setupFor(sink, ['burst'], { requests });
  return alive(kind.start, setup, async ({ pid }, poster) => {
    const before = usageOf(pid);
    const begun = await poster.burst(alarms(events));
    await sink.arrived(onlyHook(setup), events, PATIENCE_MS);
    await pause(SETTLE_MS);
    const after = usageOf(pid);
    const seen = await sink.report(onlyHook(setup));
    return {
      perSecond: (seen.unique / (seen.lastAt - begun)) * 1000,
      p50: seen.p50,
      p99: seen.p99,
      cpuMs: ((after.cpuSec - before.cpuSec) * 1000) / seen.unique,
      peakMb: after.peakMb,
      missing: events - seen.unique,
      doubled: seen.doubled + seen.repeated,
      requests: seen.requests,
      meanBytes: seen.meanBytes,
    };
  });
}

/** Each of them in turns, as often as there are runs. */
async function inTurns(
  participants: readonly Participant[],
  bench: Bench,
): Promise<ReadonlyMap<Participant, readonly Burst[]>> {
  const results = new Map<Participant, Burst[]>(participants.map(one => [one, []]));
  for (let run = 0; run < bench.runs; run++)
    for (const [participant, bursts] of results) bursts.push(await burst(participant, bench));
  return results;
}

const rowOf = ([{ name }, bursts]: readonly [Participant, readonly Burst[]]): string[] => [
  name,
  spread(bursts.map(one => one.perSecond)),
  spread(
    bursts.map(one => one.cpuMs),
    3,
  ),
  spread(bursts.map(one => one.peakMb)),
  spread(bursts.map(one => one.p50)),
  spread(bursts.map(one => one.p99)),
  spread(bursts.map(one => one.requests)),
  spread(bursts.map(one => one.meanBytes)),
  bursts.reduce((sum, one) => sum + one.missing, 0).toString(),
  bursts.reduce((sum, one) => sum + one.doubled, 0).toString(),
];

export const burstScenario: Scenario = {
  id: 'S1',
  title: 'a burst of events, nothing grouped; S1b is the row with default settings',
  async run(bench) {
    const peer: Participant | undefined = bench.alertmanager && {
      name: 'Alertmanager',
      kind: bench.alertmanager,
      requests: 'one',
    };
    console.log(
      `  ${bench.events} events of 600 bytes in lists of 50; up to ${CONCURRENCY} requests at once where each event has its own, 5 by default; Alertmanager as many as it likes. Headgate answers when events are synced to disk, the others from memory.`,
    );
    const results = await inTurns([...(peer ? [peer] : []), ONE, DEFAULT, RELAY], bench);
    printTable(
      [
        'median (least-most)',
        'events/s',
        'CPU ms each',
        'peak MB',
        'p50 ms',
        'p99 ms',
        'requests',
        'bytes',
        'missing',
        'twice',
      ],
      [...results].map(rowOf),
    );
    const of = (participant: Participant, value: (one: Burst) => number): number =>
      median((results.get(participant) ?? []).map(value));
    const ratio = (one: Participant, other: Participant, value: (one: Burst) => number): number =>
      of(one, value) / of(other, value);
    if (peer !== undefined) {
      printGoal(
        'CPU of Alertmanager',
        ratio(ONE, peer, one => one.cpuMs),
        '<=',
        0.6,
      );
      printGoal(
        'rate of Alertmanager',
        ratio(ONE, peer, one => one.perSecond),
        '>=',
        1.3,
      );
      printGoal(
        'peak memory of Alertmanager',
        ratio(ONE, peer, one => one.peakMb),
        '<=',
        0.6,
      );
      printGoal(
        'S1b: rate of Alertmanager, batched',
        ratio(DEFAULT, peer, one => one.perSecond),
        '>=',
        5,
      );
    }
    console.log(
      `  of the bare relay: rate ${ratio(ONE, RELAY, one => one.perSecond).toFixed(2)}, CPU ${ratio(ONE, RELAY, one => one.cpuMs).toFixed(2)}`,
    );
  },
};
