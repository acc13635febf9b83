import type { Clock } from '../../src/lib/clock.ts';

/** A clock that stands still until it is moved. */
export interface TestClock extends Clock {
  /** Moves both clocks on, running each timer at its own time and letting promises settle between them. */
  advance(ms: number): Promise<void>;
  /** Moves only the wall clock, as an operator or NTP would. */
  step(ms: number): void;
}

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
  const timers = new Set<Timer>();

  function after(ms: number, run: () => void): () => void {
    const timer = { at: mono + Math.max(0, ms), run };
    timers.add(timer);
    return () => timers.delete(timer);
  }

  return {
    now: () => wall,
    monotonic: () => mono,
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
    async advance(ms) {
      const end = mono + ms;
      await settle();
      for (;;) {
        const next = [...timers].sort((a, b) => a.at - b.at)[0];
        if (next === undefined || next.at > end) break;
        timers.delete(next);
        wall += next.at - mono;
        mono = next.at;
        next.run();
        await settle();
      }
      wall += end - mono;
      mono = end;
      await settle();
    },
  };
}
