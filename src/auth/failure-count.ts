import { RateLimiterMemory } from 'rate-limiter-flexible';
import { createLru } from '../lib/lru.ts';
import { createFailureGate, type FailureGate } from './failure-gate.ts';

/** At most `count` failures in each span of `perMs`, which begins with the first of them. */
export interface RateLimit {
  readonly count: number;
  readonly perMs: number;
}

export function createFailureCount(mostKeys: number, mostWaiting?: number): FailureGate<RateLimit> {
  const limiter = new RateLimiterMemory({ points: 1, duration: 1 });
  /** The limiter's keys, to bound them: whoever has most addresses only pushes out the oldest counts. */
  const counted = createLru<string, true>(mostKeys);
  return createFailureGate(
    {
      async look(key, limit) {
        const seen = await limiter.get(key);
        const failures = seen !== null && seen.msBeforeNext > 0 ? seen.consumedPoints : 0;
        const waitMs = failures >= limit.count ? Math.max(1, seen?.msBeforeNext ?? 1) : 0;
        return { waitMs, free: limit.count - failures };
      },
      async book(key, limit) {
        const booked = limiter.penalty(key, 1, { customDuration: limit.perMs / 1000 });
        const dropped = counted.set(key, true);
        if (dropped !== undefined) await limiter.delete(dropped);
        await booked;
      },
    },
    mostWaiting,
  );
}
