import { createPoster, type Poster } from './poster.ts';
import type { Sink } from './sink.ts';
import type { BenchEvent, Hook, RunningSystem, Setup, SystemKind } from './system.ts';
import { temporaryFolder } from './temporary.ts';

/** What every scenario is given. */
export interface Bench {
  readonly sink: Sink;
  /** Undefined where it is not installed: then there are no ratios. */
  readonly alertmanager: SystemKind | undefined;
  readonly runs: number;
  /** Events of the burst. */
  readonly events: number;
  /** For a look: shorter and smaller, and no figure to quote. */
  readonly isQuick: boolean;
}

export interface Scenario {
  readonly id: string;
  readonly title: string;
  run(bench: Bench): Promise<void>;
}

/** Starts a system, and kills it after the work whatever became of it. */
export async function alive<System extends RunningSystem, Result>(
  start: (setup: Setup) => Promise<System>,
  setup: Setup,
  work: (system: System, poster: Poster) => Promise<Result>,
): Promise<Result> {
  const system = await start(setup);
  const poster = createPoster(system);
  try {
    return await work(system, poster);
  } finally {
    await poster.end();
    await system.kill();
  }
}

/** A setup in a folder of its own, with one receiver a name. */
export function setupFor(sink: Sink, names: readonly string[], more: Partial<Setup> = {}): Setup {
  return {
    folder: temporaryFolder(),
    hooks: names.map(name => sink.hook(name)),
    requests: 'one',
    ...more,
  };
}

export const alarms = (count: number, more: Partial<BenchEvent> = {}): BenchEvent[] =>
  Array.from({ length: count }, (_, index) => ({ key: `subject-${index}`, state: 'ALARM', ...more }));

export const ends = (events: readonly BenchEvent[]): BenchEvent[] =>
  events.map(event => ({ ...event, state: 'OK' }));

/** The first receiver of a setup. */
export function onlyHook({ hooks }: Setup) {
  const [hook] = hooks;
  if (hook === undefined) throw new Error('this setup has no receiver');
  return hook;
}

/** What a process does for the first time takes longer: some events at the same pace that are not counted. */
export async function warmUp(poster: Poster, sink: Sink, hook: Hook, perSecond: number): Promise<void> {
  const events = alarms(perSecond * WARM_UP_SEC).map(event => ({ ...event, key: `warm-${event.key}` }));
  await poster.paced(events, perSecond);
  await sink.arrived(hook, events.length, 5000);
  await sink.forget(hook);
}

export const WARM_UP_SEC = 3;
