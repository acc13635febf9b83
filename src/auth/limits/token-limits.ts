import { addressPrefix } from '../../lib/addresses.ts';
import type { Clock } from '../../lib/clock.ts';
import { createConcurrencyLimit, type WithPermit } from '../../lib/concurrency.ts';
import { rateLimited } from '../../lib/rate-limited.ts';
import { type BucketSize, createTokenBuckets } from '../../lib/token-buckets.ts';
import {
  type BackOffPolicy,
  createFailureBackOff,
  createFailureWindow,
  type FailureLimiter,
} from './failure-limits.ts';

const MOST_KEYS = 10_000;
const FAILURES_OF_ADDRESS = { count: 50, perMs: 1000 };
/** Made-up client ids cost reads of the store: those of one address wait for each other, and for nobody else. */
const LOOKUPS_OF_ADDRESS = { concurrent: 2, waiting: 2000 };
const REFUSED = 'Too many requests for tokens; try again shortly';

/**
 * Limits of clients that ask for tokens. The secret is compared first: that is one HMAC of 256 random bits, which
 * nobody guesses, so a right secret is held up by no wrong ones, wherever these come from.
 */
export interface TokenLimits {
  /** Reads the store for the address. Throws `rate-limited` when very many of its reads wait. */
  lookUp<Result>(address: string, read: () => Promise<Result>): Promise<Result>;
  /** Throws `rate-limited` when the client asks too often, from all addresses together. */
  succeeded(address: string, clientId: string): void;
  /**
   * Counts a wrong secret. Throws `rate-limited` in place of the refusal when the client fails too often from this
   * address, or the address does. An unknown client makes no difference.
   */
  failed(address: string, clientId: string): Promise<void>;
}

/** Settings are read at each call; 0 per second switches the limit of requests off. */
export function createTokenLimits(options: {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly size: () => BucketSize;
  readonly backOff: () => BackOffPolicy;
}): TokenLimits {
  const { clock, size, backOff } = options;
  const wrong = createTokenBuckets(clock, MOST_KEYS);
  const grants = createTokenBuckets(clock, MOST_KEYS);
  const ofPair = createFailureBackOff(clock, MOST_KEYS);
  const ofAddress = createFailureWindow(clock, MOST_KEYS);

  const lookups = createLookups();

  function take(buckets: typeof wrong, key: string): void {
    const now = size();
    const waitMs = now.perSecond === 0 ? 0 : buckets.take(key, now);
    if (waitMs > 0) throw rateLimited(REFUSED, waitMs);
  }

  /** Counts the failure unless the key has to wait: then it throws, and waits no longer for it. */
  async function count<Limit>(
    limiter: FailureLimiter<Limit>,
    key: string,
    { limit, longestMs }: { readonly limit: Limit; readonly longestMs?: number },
  ): Promise<void> {
    const waitMs = await limiter.reserve(key, limit);
    if (waitMs > 0)
      throw rateLimited(REFUSED, waitMs, longestMs === undefined ? undefined : Math.ceil(longestMs / 1000));
    const recorded = limiter.fail(key, limit);
    limiter.release(key);
    await recorded;
  }

  return {
    lookUp: (from, read) => lookups(addressPrefix(from), read),
    succeeded(from, clientId) {
      ofPair.forgive(pairOf(from, clientId));
      take(grants, clientId);
    },
    async failed(from, clientId) {
      const pair = pairOf(from, clientId);
      take(wrong, pair);
      const limit = backOff();
      if (limit.after === 0) return;
      await count(ofAddress, addressPrefix(from), { limit: FAILURES_OF_ADDRESS });
      await count(ofPair, pair, { limit, longestMs: limit.longestMs });
    },
  };
}

const pairOf = (from: string, clientId: string): string => `${addressPrefix(from)} ${clientId}`;

/** Keeps a limit for each address while it reads. */
function createLookups() {
  const known = new Map<string, { readonly withPermit: WithPermit; users: number }>();
  return async <Result>(address: string, read: () => Promise<Result>): Promise<Result> => {
    const found = known.get(address) ?? {
      withPermit: createConcurrencyLimit({ ...LOOKUPS_OF_ADDRESS, refuse: () => rateLimited(REFUSED, 1000) }),
      users: 0,
    };
    found.users += 1;
    known.set(address, found);
    try {
      return await found.withPermit(read);
    } finally {
      found.users -= 1;
      if (found.users === 0) known.delete(address);
    }
  };
}
