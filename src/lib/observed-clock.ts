import type { Clock } from './clock.ts';
import { formatDuration } from './duration.ts';
import type { Logger } from './logger.ts';
import { createRepeat } from './repeat.ts';

/**
 * A clock whose monotonic time leaves out the time in which this process did not run: it was stopped by a signal, its
 * container was paused, its machine was suspended, or its thread was blocked. What is measured with it is time that was
 * observed. Timers are those of the clock it is made of.
 */
export interface ObservedClock extends Clock {
  /** Milliseconds in which the process did not run so far, suspended ones included, whatever the monotonic clock does then. */
  unobservedMs(): number;
  /** Looks at the time no more. */
  stop(): Promise<void>;
}

/** The process runs at least this often, as it looks at the time. */
const TICK_MS = 500;
/** When more than this has passed since it last ran, it did not run: whoever evaluates may be late by less. */
const MAX_LATE_MS = 3000;

export interface ObservedClockOptions {
  readonly clock: Clock;
  readonly logger: Logger;
}

export const createObservedClock = (options: ObservedClockOptions): ObservedClock =>
  new GapLessClock(options);

class GapLessClock implements ObservedClock {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #ticks: ReturnType<typeof createRepeat>;
  /** When the process last ran, on the monotonic clock. */
  #ranAt: number;
  /** Milliseconds that the monotonic clock is ahead of the observed one. */
  #frozenMs = 0;
  /** Milliseconds in which the machine was suspended and the monotonic clock stood still. */
  #suspendedMs = 0;
  /** How much the machine's uptime was ahead of the monotonic clock at the last tick. */
  #lead: number;

  constructor({ clock, logger }: ObservedClockOptions) {
    this.#clock = clock;
    this.#logger = logger;
    this.#ranAt = clock.monotonic();
    this.#lead = clock.uptime() - clock.monotonic();
    this.#ticks = createRepeat({
      clock,
      interval: TICK_MS,
      work: () => void this.unobservedMs(),
      faults: { failed: () => {} },
    });
    this.#ticks.start();
  }

  readonly now = (): number => this.#clock.now();

  uptime(): number {
    return this.#clock.uptime();
  }

  monotonic(): number {
    const now = this.#clock.monotonic();
    const passedMs = now - this.#ranAt;
    this.#ranAt = now;
    if (passedMs > MAX_LATE_MS) {
      this.#frozenMs += passedMs;
      this.#logGap(passedMs);
    }
    return now - this.#frozenMs;
  }

  unobservedMs(): number {
    this.monotonic();
    const lead = this.#clock.uptime() - this.#clock.monotonic();
    const aheadMs = lead - this.#lead;
    this.#lead = lead;
    if (aheadMs > MAX_LATE_MS) {
      this.#suspendedMs += aheadMs;
      this.#logGap(aheadMs);
    }
    return this.#frozenMs + this.#suspendedMs;
  }

  after(ms: number, run: () => void): ReturnType<Clock['after']> {
    return this.#clock.after(ms, run);
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return this.#clock.sleep(ms, signal);
  }

  stop(): Promise<void> {
    return this.#ticks.stop();
  }

  #logGap(ms: number): void {
    this.#logger.warn(
      { duration: formatDuration(ms) },
      'this process did not run for a while; that time counts in no silence and in no window',
    );
  }
}
