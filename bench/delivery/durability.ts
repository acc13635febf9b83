import { headgate } from './headgate.ts';
import { type Poster, pause } from './poster.ts';
import { alarms, alive, type Bench, ends, onlyHook, type Scenario, setupFor } from './scenario.ts';
import type { Report } from './sink-protocol.ts';
import type { BenchEvent, SystemKind } from './system.ts';
import { printGoal, printTable } from './table.ts';

/** Prometheus repeats itself each minute or so; looked at in a shorter time. */
const REPEAT_EVERY_MS = 2000;
const SCHEDULE = ['0s', '1s', '2s', ...Array<string>(12).fill('4s')];

/** A system with a source that is silent after its post, or says again and again how things are. */
interface Case {
  readonly kind: SystemKind;
  readonly isRepeating: boolean;
}

const casesOf = ({ alertmanager }: Bench): Case[] => [
  ...(alertmanager ? [false, true].map(isRepeating => ({ kind: alertmanager, isRepeating })) : []),
  ...[false, true].map(isRepeating => ({ kind: headgate, isRepeating })),
];

const nameOf = ({ kind, isRepeating }: Case): string =>
  `${kind.name}, source ${isRepeating ? 'repeats itself' : 'silent'}`;

/** Lets the time pass in which the source may repeat what it last said. */
async function passTime(
  poster: Poster,
  events: readonly BenchEvent[],
  isRepeating: boolean,
  forMs: number,
): Promise<void> {
  const end = performance.now() + forMs;
  while (performance.now() < end) {
    if (isRepeating) await poster.post(events);
    await pause(Math.min(REPEAT_EVERY_MS, Math.max(0, end - performance.now())));
  }
}

const figuresOf = ({ unique, repeated, doubled }: Report): string[] =>
  [unique, repeated, doubled].map(String);

const HEAD = ['', 'delivered', 'again, same webhook-id', 'again, otherwise'];

/** Killed right after its answer; what arrived after the next start. */
async function killAfterAnswer(one: Case, { sink }: Bench): Promise<Report> {
  const setup = setupFor(sink, ['kill'], { firstWaitSec: 1 });
  const events = alarms(200);
  await alive(one.kind.start, setup, async (system, poster) => {
    await poster.post(events);
    await system.kill();
  });
  await alive(one.kind.start, setup, (_system, poster) => passTime(poster, events, one.isRepeating, 7000));
  return sink.report(onlyHook(setup));
}

export const killScenario: Scenario = {
  id: 'S5',
  title: '200 events accepted, kill -9 at once, started again (Alertmanager with group_wait 1 s)',
  async run(bench) {
    const rows: string[][] = [];
    for (const one of casesOf(bench)) {
      const seen = await killAfterAnswer(one, bench);
      rows.push([nameOf(one), ...figuresOf(seen)]);
      if (one.kind === headgate && !one.isRepeating) {
        printGoal('Headgate, delivered of 200', seen.unique, '>=', 200);
        printGoal('Headgate, doubled', seen.doubled, '<=', 0);
      }
    }
    printTable(HEAD, rows);
  },
};

/** Fires and ends while the receiver is out of order. */
async function outage(one: Case, { sink, isQuick }: Bench): Promise<Report> {
  const setup = setupFor(sink, ['outage'], { againSec: 5, retrySchedule: SCHEDULE });
  const hook = onlyHook(setup);
  const events = alarms(50);
  await sink.behave(hook, { status: 503 });
  await alive(one.kind.start, setup, async (_system, poster) => {
    await poster.post(events);
    await passTime(poster, events, one.isRepeating, 2000);
    await poster.post(ends(events));
    await passTime(poster, ends(events), one.isRepeating, isQuick ? 5000 : 10_000);
    await sink.behave(hook, {});
    await passTime(poster, ends(events), one.isRepeating, 12_000);
  });
  return sink.report(hook);
}

export const outageScenario: Scenario = {
  id: 'S6',
  title:
    '50 subjects fire and end while the receiver answers 503; told when it is well again (50 alarms and 50 ends, or one of both each)',
  async run(bench) {
    const rows: string[][] = [];
    for (const one of casesOf(bench)) {
      const { requests, alarms: fired, unique } = await outage(one, bench);
      rows.push([nameOf(one), ...[requests, fired, unique - fired].map(String)]);
    }
    printTable(['', 'requests', 'alarms told', 'ends told'], rows);
  },
};

/** Killed when all is delivered; the source may repeat itself. */
async function repeatsAfterKill(one: Case, { sink }: Bench): Promise<Report> {
  const setup = setupFor(sink, ['repeats']);
  const events = alarms(50);
  await alive(one.kind.start, setup, async (_system, poster) => {
    await poster.post(events);
    await sink.arrived(onlyHook(setup), events.length, 5000);
    await pause(1000);
  });
  await alive(one.kind.start, setup, (_system, poster) => passTime(poster, events, one.isRepeating, 5000));
  return sink.report(onlyHook(setup));
}

export const repeatsScenario: Scenario = {
  id: 'S7',
  title: '50 events delivered, a second later kill -9, started again: none should come again',
  async run(bench) {
    const rows: string[][] = [];
    for (const one of casesOf(bench))
      rows.push([nameOf(one), ...figuresOf(await repeatsAfterKill(one, bench))]);
    printTable(HEAD, rows);
  },
};
