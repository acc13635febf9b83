import type { Clock } from './clock.ts';

interface SpendingLimitOptions {
  /** What comes back each second. */
  readonly perSecond: number;
  /** How much there is at most, after a pause. */
  readonly most: number;
  readonly clock: Pick<Clock, 'monotonic'>;
}

/**
 * A limit for what has its cost known only once it is done. It may begin while anything is left, and is charged whole:
 * the next one waits until that has come back. So nothing is ever too large to be done at all.
 */
export class SpendingLimit {
  readonly #options: SpendingLimitOptions;
  #left: number;
  /** Monotonic milliseconds. */
  #at: number;

  constructor(options: SpendingLimitOptions) {
    this.#options = options;
    this.#left = options.most;
    this.#at = options.clock.monotonic();
  }

  /** Milliseconds until something may begin; 0 when it may now. */
  waitMs(): number {
    this.#refill();
    return this.#left > 0 ? 0 : Math.max(1, (-this.#left * 1000) / this.#options.perSecond);
  }

  /** What was spent and has not come back yet. */
  spent(): number {
    this.#refill();
    return this.#options.most - this.#left;
  }

  spend(amount: number): void {
    this.#refill();
    this.#left -= amount;
  }

  #refill(): void {
    const { perSecond, most, clock } = this.#options;
    const now = clock.monotonic();
    this.#left = Math.min(most, this.#left + ((now - this.#at) * perSecond) / 1000);
    this.#at = now;
  }
}
