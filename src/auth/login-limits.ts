import { addressPrefix } from '../lib/address-prefix.ts';
import type { Clock } from '../lib/clock.ts';
import { AppError } from '../lib/errors.ts';
import { createLru } from '../lib/lru.ts';
import { createFailureCount, type RateLimit } from './failure-count.ts';

const MOST_KEYS = 10_000;
const RECENT_MS = 24 * 3_600_000;
const LONGEST_RETRY_SECONDS = 5;

/** A reserved attempt. One of the three is called, once. */
export interface LoginAttempt {
  failed(): Promise<void>;
  succeeded(): void;
  /** The password was not compared. */
  abandoned(): void;
}

export interface LoginLimits {
  /**
   * Throws `rate-limited` when the address or the name has failed too often, `unavailable` when too many wait for the
   * outcome of others.
   */
  reserve(address: string, username: string): Promise<LoginAttempt>;
}

/**
 * Counts failures by address and by name. Whoever logged in under a name from an address within a day is not held
 * up by what others try on that name, so nobody can lock a victim out.
 */
export function createLoginLimits(options: { clock: Clock; limit: () => RateLimit }): LoginLimits {
  const { clock } = options;
  const byAddress = createFailureCount(MOST_KEYS);
  const byName = createFailureCount(MOST_KEYS);
  const successes = createLru<string, number>(MOST_KEYS);

  function hasRecentSuccess(pair: string): boolean {
    const at = successes.get(pair);
    return at !== undefined && clock.monotonic() - at < RECENT_MS;
  }

  return {
    async reserve(address, username) {
      const limit = options.limit();
      const place = addressPrefix(address);
      const pair = `${place} ${username}`;
      const counts = [{ count: byAddress, key: place }];
      if (!hasRecentSuccess(pair)) counts.push({ count: byName, key: username });

      const held: typeof counts = [];
      const release = (): void => {
        for (const { count, key } of held) count.release(key);
      };
      // Always the address first: two attempts never wait for each other.
      try {
        for (const entry of counts) {
          const waitMs = await entry.count.reserve(entry.key, limit);
          if (waitMs > 0) throw rateLimited(waitMs);
          held.push(entry);
        }
      } catch (error) {
        release();
        throw error;
      }
      return {
        async failed() {
          const booked = held.map(({ count, key }) => count.fail(key, limit));
          release();
          await Promise.all(booked);
        },
        succeeded() {
          successes.set(pair, clock.monotonic());
          release();
        },
        abandoned: release,
      };
    },
  };
}

function rateLimited(waitMs: number): AppError {
  const retryAfterSeconds = Math.min(Math.max(1, Math.ceil(waitMs / 1000)), LONGEST_RETRY_SECONDS);
  return new AppError('rate-limited', 'Too many failed logins; try again shortly', { retryAfterSeconds });
}
