import { addressPrefix } from '../../lib/addresses.ts';
import type { Clock } from '../../lib/clock.ts';
import { rateLimited } from '../../lib/rate-limited.ts';
import { type BucketSize, createTokenBuckets } from '../../lib/token-buckets.ts';
import { type BackOffPolicy, createFailureBackOff, createFailureWindow } from './failure-limits.ts';

const MOST_KEYS = 10_000;
/** After an hour all programs of a site may ask for a token at the same moment: nearly all of them are right. */
const MOST_WAITING = 2000;
/** Each made-up client id costs a read of the store. */
const FAILURES_OF_ADDRESS = { count: 50, perMs: 1000 };
const NO_LIMIT = { ...FAILURES_OF_ADDRESS, count: Number.POSITIVE_INFINITY };
const REFUSED = 'Too many requests for tokens; try again shortly';

/** A reserved attempt of a client to authenticate. The caller calls one of the three, once. */
interface TokenAttempt {
  /** Throws `rate-limited` when the client asks too often, from all addresses together. */
  succeeded(): void;
  failed(): Promise<void>;
  /** The secret was not compared. */
  abandoned(): void;
}

export interface TokenLimits {
  /**
   * Throws `rate-limited` when the client asks too often or fails too often, from this address, or the address fails too
   * often, and `unavailable` when too many wait for the outcome of others. An unknown client makes no difference, and
   * attempts from other addresses in a client's name do not delay it.
   */
  reserve(address: string, clientId: string): Promise<TokenAttempt>;
}

/** Settings are read at each call; 0 per second switches the limit of requests off. */
export function createTokenLimits(options: {
  readonly clock: Clock;
  readonly size: () => BucketSize;
  readonly backOff: () => BackOffPolicy;
}): TokenLimits {
  const { clock, size, backOff } = options;
  const requests = createTokenBuckets(clock, MOST_KEYS);
  const grants = createTokenBuckets(clock, MOST_KEYS);
  const ofPair = createFailureBackOff(clock, MOST_KEYS);
  const ofAddress = createFailureWindow(MOST_KEYS, MOST_WAITING);

  function take(buckets: typeof requests, key: string): void {
    const now = size();
    const waitMs = now.perSecond === 0 ? 0 : buckets.take(key, now);
    if (waitMs > 0) throw rateLimited(REFUSED, waitMs);
  }

  return {
    async reserve(from, clientId) {
      const address = addressPrefix(from);
      const pair = `${address} ${clientId}`;
      take(requests, pair);
      const limit = backOff();
      const ofAll = limit.after === 0 ? NO_LIMIT : FAILURES_OF_ADDRESS;
      const addressMs = await ofAddress.reserve(address, ofAll);
      if (addressMs > 0) throw rateLimited(REFUSED, addressMs);
      const pairMs = await ofPair.reserve(pair, limit).catch((error: unknown) => {
        ofAddress.release(address);
        throw error;
      });
      const release = (): void => {
        ofPair.release(pair);
        ofAddress.release(address);
      };
      if (pairMs > 0) {
        ofAddress.release(address);
        throw rateLimited(REFUSED, pairMs, Math.ceil(limit.longestMs / 1000));
      }
      return {
        succeeded() {
          ofPair.forgive(pair);
          release();
          take(grants, clientId);
        },
        async failed() {
          const recorded = Promise.all([ofPair.fail(pair, limit), ofAddress.fail(address, ofAll)]);
          release();
          await recorded;
        },
        abandoned: release,
      };
    },
  };
}
