import type { Clock } from '../lib/clock.ts';
import { createLru } from '../lib/lru.ts';
import { createFailureGate, type FailureGate } from './failure-gate.ts';

/** From the `after`th failure on, a wait after each: 1 s at first, twice as long each time, at most `longestMs`. */
export interface BackOff {
  /** 0 for never. */
  readonly after: number;
  readonly longestMs: number;
}

export interface FailureBackOff extends FailureGate<BackOff> {
  /** Whether its failures make the key wait by now. */
  isSlowed(key: string, limit: BackOff): boolean;
  /** As if the key had never failed. */
  forgive(key: string): void;
}

interface Failures {
  readonly count: number;
  /** Monotonic milliseconds. */
  readonly lastAt: number;
}

const FIRST_WAIT_MS = 1000;
const FORGOTTEN_MS = 3_600_000;
/** Doubled more often than this, a second is longer than any setting. */
const MOST_DOUBLED = 30;

export function createFailureBackOff(clock: Pick<Clock, 'monotonic'>, mostKeys: number): FailureBackOff {
  const known = createLru<string, Failures>(mostKeys);

  function failuresOf(key: string): Failures {
    const found = known.get(key);
    const now = clock.monotonic();
    return found === undefined || now - found.lastAt >= FORGOTTEN_MS ? { count: 0, lastAt: now } : found;
  }

  const isSlowed = (count: number, { after }: BackOff): boolean => after > 0 && count >= after;

  function waitMsOf({ count, lastAt }: Failures, limit: BackOff): number {
    if (!isSlowed(count, limit)) return 0;
    const grownMs = FIRST_WAIT_MS * 2 ** Math.min(count - limit.after, MOST_DOUBLED);
    return Math.max(0, lastAt + Math.min(grownMs, limit.longestMs) - clock.monotonic());
  }

  const gate = createFailureGate<BackOff>({
    look(key, limit) {
      const failures = failuresOf(key);
      const free = limit.after === 0 ? Number.POSITIVE_INFINITY : Math.max(1, limit.after - failures.count);
      return { waitMs: waitMsOf(failures, limit), free };
    },
    book(key) {
      known.set(key, { count: failuresOf(key).count + 1, lastAt: clock.monotonic() });
    },
  });
  return {
    ...gate,
    isSlowed: (key, limit) => isSlowed(failuresOf(key).count, limit),
    forgive: known.delete,
  };
}
