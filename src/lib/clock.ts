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

/** A clock that stands still until it is moved on: what runs by it is played through faster than it happens. */
export interface VirtualClock extends Clock {
  /** Moves on by `ms`, and runs each timer at its own time; what a timer began has settled before the next one runs. */
  advance(ms: number): Promise<void>;
}

interface Timer {
  readonly at: number;
  readonly run: () => void;
}

/** Begins at `start`, epoch ms. `settled` resolves when nothing is under way that a timer began. */
export const createVirtualClock = (start: number, settled: () => Promise<void>): VirtualClock =>
  new PlayedClock(start, settled);

class PlayedClock implements VirtualClock {
  readonly #start: number;
  readonly #settled: () => Promise<void>;
  #elapsed = 0;
  /** By time, the earliest last. */
  readonly #timers: Timer[] = [];

  constructor(start: number, settled: () => Promise<void>) {
    this.#start = start;
    this.#settled = settled;
  }

  readonly now = (): number => this.#start + this.#elapsed;

  monotonic(): number {
    return this.#elapsed;
  }

  uptime(): number {
    return this.#elapsed;
  }

  after(ms: number, run: () => void): Cancel {
    const timer = { at: this.#elapsed + Math.max(0, ms), run };
    const later = this.#timers.findLastIndex(({ at }) => at > timer.at);
    this.#timers.splice(later + 1, 0, timer);
    return () => {
      const at = this.#timers.indexOf(timer);
      if (at >= 0) this.#timers.splice(at, 1);
    };
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise(resolve => {
      if (signal?.aborted) return resolve();
      const done = (): void => {
        cancel();
        signal?.removeEventListener('abort', done);
        resolve();
      };
      const cancel = this.after(ms, done);
      signal?.addEventListener('abort', done);
    });
  }

  async advance(ms: number): Promise<void> {
    const end = this.#elapsed + ms;
    for (let next = this.#timers.at(-1); next !== undefined && next.at <= end; next = this.#timers.at(-1)) {
      this.#timers.pop();
      this.#elapsed = Math.max(this.#elapsed, next.at);
      next.run();
      await this.#settled();
    }
    this.#elapsed = end;
  }
}
