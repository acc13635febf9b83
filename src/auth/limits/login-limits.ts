import { addressPrefix } from '../../lib/addresses.ts';
import type { Clock } from '../../lib/clock.ts';
import { createLru } from '../../lib/lru.ts';
import { LONGEST_RETRY_SECONDS, rateLimited } from '../../lib/rate-limited.ts';
import {
  type BackOffPolicy,
  createFailureBackOff,
  createFailureWindow,
  type FailureLimiter,
  type RateLimit,
} from './failure-limits.ts';

const MOST_KEYS = 10_000;
const RECENT_MS = 24 * 3_600_000;
const REFUSED = 'Too many failed logins; try again shortly';
/** A name waits after this many times the failures of one address under that name: so many addresses have to try. */
const ADDRESSES_PER_NAME = 4;

/** A reserved attempt. The caller calls one of the three, once. */
export interface LoginAttempt {
  failed(): Promise<void>;
  succeeded(): void;
  /** Counts for nothing: the password was not compared, or its being right says nothing of other accounts of the name. */
  abandoned(): void;
}

export interface LoginLimits {
  /**
   * Throws `rate-limited` when the address or the name has failed too often, `unavailable` when too many wait for the
   * outcome of others. An unknown user makes no difference. The name is that of one account, `accountName`, or one that
   * several share.
   */
  reserve(address: string, username: string): Promise<LoginAttempt>;
}

/** A key by which failures of an attempt are counted. */
interface CountedKey {
  /** Returns the milliseconds to wait; 0 when the attempt is reserved. */
  reserve(): Promise<number>;
  release(): void;
  fail(): Promise<void>;
  /** The longest wait that an answer names. */
  readonly maxRetrySeconds: number;
}

function countedKey<Limit>(
  gate: FailureLimiter<Limit>,
  key: string,
  limit: Limit,
  maxRetrySeconds: number,
): CountedKey {
  return {
    reserve: () => gate.reserve(key, limit),
    release: () => gate.release(key),
    fail: () => gate.fail(key, limit),
    maxRetrySeconds,
  };
}

/**
 * Counts failures by address, by name, and by both. Attempts on one name from one address wait longer each time, and
 * from then on do not count for the name, so one address cannot make others wait for long. A user who logged in from
 * an address within a day is not delayed there by attempts of others on that name, nor by those of others at that
 * address: nobody can lock a victim out.
 */
export function createLoginLimits(options: {
  clock: Clock;
  limit: () => RateLimit;
  backOff: () => BackOffPolicy;
}): LoginLimits {
  const { clock } = options;
  const byAddress = createFailureWindow(clock, MOST_KEYS);
  const byName = createFailureWindow(clock, MOST_KEYS);
  const byNameForLong = createFailureBackOff(clock, MOST_KEYS);
  const byPair = createFailureBackOff(clock, MOST_KEYS);
  const successes = createLru<string, number>(MOST_KEYS);

  function hasRecentSuccess(pair: string): boolean {
    const at = successes.get(pair);
    return at !== undefined && clock.monotonic() - at < RECENT_MS;
  }

  /** The address always comes first, so that two attempts never wait for each other. */
  function countedKeys(prefix: string, username: string): CountedKey[] {
    const limit = options.limit();
    const backOff = options.backOff();
    const pair = pairOf(prefix, username);
    const longest = Math.ceil(backOff.longestMs / 1000);
    const address = countedKey(byAddress, prefix, limit, LONGEST_RETRY_SECONDS);
    const both = countedKey(byPair, pair, backOff, longest);
    if (hasRecentSuccess(pair)) {
      // The first attempt waits for nobody at the address: its user is likely right, and one guess is no use. It is
      // reserved by its pair before anything else, so that of several at once only one is the first.
      const isFirst = backOff.after > 0 && byPair.isFresh(pair);
      return isFirst ? [both, { ...address, reserve: async () => 0, release: () => {} }] : [address, both];
    }
    const wide = { ...backOff, after: backOff.after * ADDRESSES_PER_NAME };
    const ofName = [
      countedKey(byName, username, limit, LONGEST_RETRY_SECONDS),
      countedKey(byNameForLong, username, wide, longest),
    ];
    const isSlowed = byPair.isSlowed(pair, backOff);
    return [
      address,
      ...(isSlowed ? ofName.map(counted => ({ ...counted, fail: async () => {} })) : ofName),
      both,
    ];
  }

  return {
    async reserve(address, username) {
      const prefix = addressPrefix(address);
      const reserved: CountedKey[] = [];
      const release = (): void => {
        for (const counted of reserved) counted.release();
      };
      try {
        for (const counted of countedKeys(prefix, username)) {
          const waitMs = await counted.reserve();
          if (waitMs > 0) throw rateLimited(REFUSED, waitMs, counted.maxRetrySeconds);
          reserved.push(counted);
        }
      } catch (error) {
        release();
        throw error;
      }
      return {
        async failed() {
          const recorded = reserved.map(counted => counted.fail());
          release();
          await Promise.all(recorded);
        },
        succeeded() {
          const pair = pairOf(prefix, username);
          successes.set(pair, clock.monotonic());
          byPair.forgive(pair);
          release();
        },
        abandoned: release,
      };
    },
  };
}

const pairOf = (prefix: string, username: string): string => `${prefix} ${username}`;
