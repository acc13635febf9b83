import type { Clock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { createObservedClock, type ObservedClock } from '../../src/lib/observed-clock.ts';

/** A clock that stands still until it is moved. */
export interface TestClock extends Clock {
  /** Moves both clocks on, running each timer at its own time and letting promises settle between them. */
  advance(ms: number): Promise<void>;
  /** Moves only the wall clock, as an operator or NTP would. */
  step(ms: number): void;
  /** Stops the process for so long: no timer runs, and all that are due by then run at once. */
  freeze(ms: number): Promise<void>;
  /** Suspends the machine for so long: its monotonic clock stands still, and with it all timers. */
  suspend(ms: number): void;
}

/** The clock without the time in which it was frozen or suspended. */
export const observedClockOf = (clock: Clock): ObservedClock =>
  createObservedClock({ clock, logger: silentLogger });

interface Timer {
  readonly at: number;
  readonly run: () => void;
}

/** Lets everything that is ready to run do so. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise(resolve => setImmediate(resolve));
}

export function testClock(start = Date.UTC(2026, 0, 1)): TestClock {
  let wall = start;
  let mono = 1000;
  let suspendedMs = 0;
  const timers = new Set<Timer>();

  function after(ms: number, run: () => void): () => void {
    const timer = { at: mono + Math.max(0, ms), run };
    timers.add(timer);
    return () => timers.delete(timer);
  }

  async function advance(ms: number): Promise<void> {
    const end = mono + ms;
    await settle();
    for (;;) {
      const next = [...timers].sort((a, b) => a.at - b.at)[0];
      if (next === undefined || next.at > end) break;
      timers.delete(next);
      // After a freeze it is overdue.
      const passedMs = Math.max(0, next.at - mono);
      wall += passedMs;
      mono += passedMs;
      next.run();
      await settle();
    }
    wall += end - mono;
    mono = end;
    await settle();
  }

  return {
    now: () => wall,
    monotonic: () => mono,
    uptime: () => mono + suspendedMs,
    after,
    sleep: (ms, signal) =>
      new Promise(resolve => {
        if (signal?.aborted) return resolve();
        const done = (): void => {
          cancel();
          signal?.removeEventListener('abort', done);
          resolve();
        };
        const cancel = after(ms, done);
        signal?.addEventListener('abort', done);
      }),
    step: ms => {
      wall += ms;
    },
    async freeze(ms) {
      await settle();
      wall += ms;
      mono += ms;
      await advance(0);
    },
    suspend: ms => {
      wall += ms;
      suspendedMs += ms;
    },
    advance,
  };
}
