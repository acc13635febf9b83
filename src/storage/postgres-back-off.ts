import type { Clock } from '../lib/clock.ts';
import type { AppError } from '../lib/errors.ts';

const SHORTEST_MS = 100;
const LONGEST_MS = 5_000;

/** Keeps calls from storming a server that cannot be reached: after a failure they fail at once for a while. */
export interface BackOff {
  /** Throws the last failure while it is too early to try again. */
  assertTime(): void;
  failed(error: AppError): void;
  passed(): void;
}

/** The while doubles with each failure, from 100 ms to 5 s. */
export function createBackOff(clock: Pick<Clock, 'monotonic'>): BackOff {
  let last: { readonly error: AppError; readonly until: number } | undefined;
  let wait = SHORTEST_MS;
  return {
    assertTime() {
      if (last !== undefined && clock.monotonic() < last.until) throw last.error;
    },
    failed(error) {
      last = { error, until: clock.monotonic() + wait };
      wait = Math.min(LONGEST_MS, wait * 2);
    },
    passed() {
      last = undefined;
      wait = SHORTEST_MS;
    },
  };
}
