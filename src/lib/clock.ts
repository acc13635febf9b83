import { uptime } from 'node:os';

/** Cancels a timer; calling it twice is harmless. */
export type Cancel = () => void;

/** The only source of time. Tests hand in one they move by hand. */
export interface Clock {
  /** Wall clock, epoch milliseconds. May jump; never subtract two of these to measure a duration. */
  readonly now: () => number;
  /**
   * Milliseconds that only ever grow, from an arbitrary origin. While the machine is suspended it stands still on Linux
   * and goes on elsewhere.
   */
  monotonic(): number;
  /** Milliseconds since the machine started, to about 10 ms; goes on while it is suspended, and no step of the wall clock changes it. */
  uptime(): number;
  /** Calls `run` once after `ms`. The timer does not keep the process alive. */
  after(ms: number, run: () => void): Cancel;
  /** Resolves after `ms`, or at once when `signal` aborts. Never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

const LONGEST_TIMER_MS = 2 ** 31 - 1;

function after(ms: number, run: () => void): Cancel {
  const timer = setTimeout(run, Math.min(Math.max(0, ms), LONGEST_TIMER_MS));
  timer.unref();
  return () => clearTimeout(timer);
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  uptime: () => uptime() * 1000,
  after,
  sleep: (ms, signal) =>
    new Promise(resolve => {
      if (signal?.aborted) return resolve();
      const cancel = after(ms, done);
      signal?.addEventListener('abort', done, { once: true });
      function done(): void {
        cancel();
        signal?.removeEventListener('abort', done);
        resolve();
      }
    }),
};
