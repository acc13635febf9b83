import { RateLimiterMemory } from 'rate-limiter-flexible';
import { createLru } from '../lib/lru.ts';

/** At most `count` failures in each span of `perMs`, which begins with the first of them. */
export interface RateLimit {
  readonly count: number;
  readonly perMs: number;
}

/** Failures by key. An attempt is reserved before it is judged, so guesses made in parallel cannot pass the limit. */
export interface FailureCount {
  /** Answers 0 when the attempt may go on, and must then be released; else the milliseconds to wait. */
  reserve(key: string, limit: RateLimit): Promise<number>;
  release(key: string): void;
  fail(key: string, limit: RateLimit): Promise<void>;
}

/** How long those wait who come while earlier attempts are still being judged. */
const UNDECIDED_MS = 1000;

export function createFailureCount(mostKeys: number): FailureCount {
  // The limit comes with each call, so that a changed setting counts at once.
  const limiter = new RateLimiterMemory({ points: 1, duration: 1 });
  /** The limiter's keys, to bound them: whoever has most addresses only pushes out the oldest counts. */
  const counted = createLru<string, true>(mostKeys);
  const reserved = new Map<string, number>();

  function release(key: string): void {
    const rest = (reserved.get(key) ?? 0) - 1;
    if (rest > 0) reserved.set(key, rest);
    else reserved.delete(key);
  }

  return {
    async reserve(key, limit) {
      const position = (reserved.get(key) ?? 0) + 1;
      reserved.set(key, position);
      const seen = await limiter.get(key);
      const failures = seen !== null && seen.msBeforeNext > 0 ? seen.consumedPoints : 0;
      if (failures + position <= limit.count) return 0;
      release(key);
      return failures < limit.count ? UNDECIDED_MS : (seen?.msBeforeNext ?? UNDECIDED_MS);
    },
    release,
    async fail(key, limit) {
      const booked = limiter.penalty(key, 1, { customDuration: limit.perMs / 1000 });
      const dropped = counted.set(key, true);
      if (dropped !== undefined) await limiter.delete(dropped);
      await booked;
    },
  };
}
