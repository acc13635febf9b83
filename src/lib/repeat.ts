import type { Clock } from './clock.ts';

/** Work that is done again and again; two runs never overlap. */
export interface Repeat {
  /** Does nothing when it was started or stopped before. */
  start(): void;
  /** Begins no further run, and resolves once the one under way has ended. The work must not wait for it. */
  stop(): Promise<void>;
}

interface RepeatOptions {
  readonly clock: Pick<Clock, 'sleep' | 'monotonic'>;
  /** Milliseconds from the end of a run to the begin of the next; a function is given how many the run took. */
  readonly interval: number | ((tookMs: number) => number);
  /** Milliseconds from `start` to the first run; 0 begins it within `start`. By default one interval. */
  readonly firstAfterMs?: number;
  readonly work: () => void | Promise<void>;
  /** Hears how each run ended; a failed one keeps none from following. */
  readonly faults: { failed(error: unknown): void; recovered?(): void };
}

/** An interval from begin to begin, which leaves at least `restMs` between the end of a run and the next. */
export const startToStart =
  (ms: number, restMs = 0) =>
  (tookMs: number): number =>
    Math.max(restMs, ms - tookMs);

export function createRepeat({ clock, interval, firstAfterMs, work, faults }: RepeatOptions): Repeat {
  const stopping = new AbortController();
  const { signal } = stopping;
  let running: Promise<void> | undefined;

  const intervalAfter = (tookMs: number): number =>
    typeof interval === 'number' ? interval : interval(tookMs);

  async function runOnce(): Promise<void> {
    try {
      await work();
      faults.recovered?.();
    } catch (error) {
      faults.failed(error);
    }
  }

  async function run(): Promise<void> {
    const first = firstAfterMs ?? intervalAfter(0);
    if (first > 0) await clock.sleep(first, signal);
    while (!signal.aborted) {
      const begun = clock.monotonic();
      await runOnce();
      await clock.sleep(intervalAfter(clock.monotonic() - begun), signal);
    }
  }

  return {
    start() {
      running ??= run();
    },
    async stop() {
      stopping.abort();
      await running;
    },
  };
}
