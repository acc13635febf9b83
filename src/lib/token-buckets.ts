import type { Clock } from './clock.ts';
import { createLru } from './lru.ts';

/** A bucket holds at most `burst` tokens and gets `perSecond` new ones. */
export interface BucketSize {
  readonly perSecond: number;
  readonly burst: number;
}

/** Token buckets by key, each full at first. */
export interface TokenBuckets {
  /** Takes a token and answers 0, or answers the milliseconds until there is one. The size may differ each time. */
  take(key: string, size: BucketSize): number;
}

interface Bucket {
  readonly left: number;
  /** Monotonic milliseconds. */
  readonly at: number;
}

/** Holds `maxKeys` of them: with more keys the oldest is forgotten. */
export function createTokenBuckets(clock: Pick<Clock, 'monotonic'>, maxKeys: number): TokenBuckets {
  const buckets = createLru<string, Bucket>(maxKeys);
  return {
    take(key, { perSecond, burst }) {
      const now = clock.monotonic();
      const known = buckets.get(key) ?? { left: burst, at: now };
      const left = Math.min(burst, known.left + ((now - known.at) * perSecond) / 1000);
      const isTaken = left >= 1;
      buckets.set(key, { left: isTaken ? left - 1 : left, at: now });
      return isTaken ? 0 : ((1 - left) * 1000) / perSecond;
    },
  };
}
