import { addressPrefix } from '../lib/addresses.ts';
import type { Clock } from '../lib/clock.ts';
import { rateLimited } from '../lib/rate-limited.ts';
import { type BucketSize, createTokenBuckets } from '../lib/token-buckets.ts';

const MOST_KEYS = 10_000;

/** Limits the rate of calls. Both throw `rate-limited` with the seconds to wait. */
export interface CallLimits {
  /** Counts a call of an authenticated user; all tokens of a user count together. */
  countActor(user: string): void;
  /**
   * Counts a call whose token is missing, expired or wrong. Calls with a good token from the same address do not count,
   * so that they are not slowed by others.
   */
  countUnauthenticated(address: string): void;
}

/** `size` is read at each call; 0 per second switches the limits off. */
export function createCallLimits({
  clock,
  size,
}: {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly size: () => BucketSize;
}): CallLimits {
  const actors = createTokenBuckets(clock, MOST_KEYS);
  const addresses = createTokenBuckets(clock, MOST_KEYS);

  function take(buckets: typeof actors, key: string, message: string): void {
    const now = size();
    const waitMs = now.perSecond === 0 ? 0 : buckets.take(key, now);
    if (waitMs > 0) throw rateLimited(message, waitMs);
  }

  return {
    countActor: user => take(actors, user, 'Too many requests of one user; send them more slowly'),
    countUnauthenticated: address =>
      take(
        addresses,
        addressPrefix(address),
        'Too many requests without a valid token from one address; log in again',
      ),
  };
}
