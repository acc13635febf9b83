import { type HeadgateSystem, headgate } from './headgate.ts';
import { pause } from './poster.ts';
import { alarms, alive, type Bench, onlyHook, type Scenario, setupFor } from './scenario.ts';
import type { Behaviour } from './sink-protocol.ts';
import type { Hook, Setup } from './system.ts';
import { printTable } from './table.ts';

/** How long attempts are watched, and the waits that Headgate is given so that some fall into it. */
const WATCH_MS = 22_000;
const SCHEDULE = ['0s', '1s', '2s', '4s', '8s'];
const AGAIN_SEC = 10;

const STATUSES = [200, 204, 400, 401, 404, 408, 410, 413, 425, 429, 500, 501, 502, 503, 504];
const REDIRECTS = [301, 302, 303, 307, 308];

type Answers = ReadonlyMap<string, Behaviour>;

function answersTo(elsewhere: Hook): Answers {
  return new Map<string, Behaviour>([
    ...STATUSES.map((status): [string, Behaviour] => [`status-${status}`, { status }]),
    ...REDIRECTS.map((status): [string, Behaviour] => [
      `status-${status}`,
      { status, headers: { location: elsewhere.url } },
    ]),
    ['429-retry-after-3', { status: 429, headers: { 'retry-after': '3' } }],
    ['503-retry-after-3', { status: 503, headers: { 'retry-after': '3' } }],
    ['reset', { mode: 'reset' }],
    ['hang', { mode: 'hang' }],
    ['50-mb-of-answer', { mode: 'huge' }],
  ]);
}

/** What became of one event at one receiver. */
interface Fate {
  readonly attempts: number;
  /** When they came, in seconds after the first. */
  readonly times: string;
  readonly state: string;
}

type Fates = ReadonlyMap<string, Fate>;

async function setUp({ sink }: Bench): Promise<{ readonly setup: Setup; readonly elsewhere: Hook }> {
  const elsewhere = sink.hook('elsewhere');
  const answers = answersTo(elsewhere);
  const plain = setupFor(sink, [...answers.keys()], { againSec: AGAIN_SEC, retrySchedule: SCHEDULE });
  for (const hook of plain.hooks) await sink.behave(hook, answers.get(hook.name) ?? {});
  await sink.forget(sink.untrusted);
  return { setup: { ...plain, hooks: [...plain.hooks, sink.untrusted] }, elsewhere };
}

async function fateOf(hook: Hook, { sink }: Bench, state: string): Promise<Fate> {
  const { requests, times, connections } = await sink.report(hook);
  const [first = 0] = times;
  return {
    attempts: Math.max(requests, connections),
    times: times
      .slice(0, 8)
      .map(at => ((at - first) / 1000).toFixed(1))
      .join(' '),
    state,
  };
}

async function fatesAtHeadgate(bench: Bench): Promise<Fates> {
  const { setup, elsewhere } = await setUp(bench);
  const fates = new Map<string, Fate>();
  const states = await alive(headgate.start, setup, async (system: HeadgateSystem, poster) => {
    await poster.post(alarms(1));
    await pause(WATCH_MS);
    return Promise.all(
      setup.hooks.map(async ({ name }): Promise<[string, string]> => {
        const [told] = await system.deliveries(name);
        return [name, told?.state ?? 'none'];
      }),
    );
  });
  const stateOf = new Map(states);
  for (const hook of setup.hooks)
    fates.set(hook.name, await fateOf(hook, bench, stateOf.get(hook.name) ?? ''));
  fates.set('(redirected to)', await fateOf(elsewhere, bench, ''));
  return fates;
}

/** Alertmanager has no state of a delivery to read: what it thinks shows in whether it comes again. */
async function fatesAtAlertmanager(bench: Bench): Promise<Fates> {
  const fates = new Map<string, Fate>();
  if (bench.alertmanager === undefined) return fates;
  const { setup, elsewhere } = await setUp(bench);
  const begun = Date.now();
  await alive(bench.alertmanager.start, setup, async (_system, poster) => {
    await poster.post(alarms(1));
    await pause(WATCH_MS);
  });
  for (const hook of setup.hooks) {
    const { times, connections } = await bench.sink.report(hook);
    const last = times.at(-1) ?? 0;
    const comesAgain = last - begun > AGAIN_SEC * 1000 || connections > 1;
    fates.set(hook.name, await fateOf(hook, bench, comesAgain ? 'again and again' : 'counted as sent'));
  }
  fates.set('(redirected to)', await fateOf(elsewhere, bench, ''));
  return fates;
}

export const answersScenario: Scenario = {
  id: 'S8',
  title: `what becomes of one event by what the receiver answers, watched for ${WATCH_MS / 1000} s (Headgate's waits ${SCHEDULE.join(', ')}; Alertmanager's group_interval ${AGAIN_SEC} s)`,
  async run(bench) {
    const peers = await fatesAtAlertmanager(bench);
    const own = await fatesAtHeadgate(bench);
    const columns = (fate: Fate | undefined): string[] =>
      fate ? [fate.attempts.toString(), fate.times, fate.state] : ['', '', ''];
    printTable(
      ['', 'Alertmanager', 'at s', 'then', 'Headgate', 'at s', 'state'],
      [...own].map(([name, fate]) => [name, ...columns(peers.get(name)), ...columns(fate)]),
    );
  },
};

const LIMITED = 40;

/** Every tenth request is told to come again in two seconds. */
export const limitScenario: Scenario = {
  id: 'S9',
  title: `429 with Retry-After 2 s on every tenth request; ${LIMITED} subjects fire and end 3 s later`,
  async run(bench) {
    const rows: string[][] = [];
    for (const kind of [...(bench.alertmanager ? [bench.alertmanager] : []), headgate]) {
      const setup = setupFor(bench.sink, ['limited'], { againSec: 10 });
      const hook = onlyHook(setup);
      await bench.sink.behave(hook, { status: 429, headers: { 'retry-after': '2' }, everyNth: 10 });
      const fired = alarms(LIMITED);
      await alive(kind.start, setup, async (_system, poster) => {
        await poster.paced(fired, 50);
        await pause(3000);
        await poster.post(fired.map(event => ({ ...event, state: 'OK' })));
        await bench.sink.arrived(hook, 2 * LIMITED, 25_000);
      });
      const { alarms: told, unique, inPause } = await bench.sink.report(hook);
      rows.push([kind.name, ...[LIMITED - told, LIMITED - (unique - told), inPause].map(String)]);
    }
    printTable(['', 'alarms lost', 'ends lost', 'requests while it had asked for a pause'], rows);
  },
};
