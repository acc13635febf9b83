import { addressPrefix } from '../lib/address-prefix.ts';
import type { Clock } from '../lib/clock.ts';
import { createLru } from '../lib/lru.ts';
import { LONGEST_RETRY_SECONDS, rateLimited } from '../lib/rate-limited.ts';
import { type BackOff, createFailureBackOff } from './failure-back-off.ts';
import { createFailureCount, type RateLimit } from './failure-count.ts';
import type { FailureGate } from './failure-gate.ts';

const MOST_KEYS = 10_000;
const RECENT_MS = 24 * 3_600_000;
const REFUSED = 'Too many failed logins; try again shortly';
/** A name waits after so many times more failures than one address under that name: so many addresses have to try. */
const ADDRESSES_PER_NAME = 4;

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
   * outcome of others. Whether there is such a user makes no difference.
   */
  reserve(address: string, username: string): Promise<LoginAttempt>;
}

/** Something of an attempt that failures are counted by. */
interface Part {
  /** Answers the milliseconds to wait; 0 when the attempt is reserved. */
  reserve(): Promise<number>;
  release(): void;
  fail(): Promise<void>;
  /** The longest wait a caller is told, in seconds. */
  readonly longestTold: number;
}

function partOf<Limit>(gate: FailureGate<Limit>, key: string, limit: Limit, longestTold: number): Part {
  return {
    reserve: () => gate.reserve(key, limit),
    release: () => gate.release(key),
    fail: () => gate.fail(key, limit),
    longestTold,
  };
}

/**
 * Counts failures by address, by name, and by both. Whoever tries one name from one address waits longer each time, and
 * from then on does not count for the name, so one address cannot make others wait for long. Whoever logged in under a
 * name from an address within a day is not held up by what others try on that name at all: nobody can lock a victim out.
 */
export function createLoginLimits(options: {
  clock: Clock;
  limit: () => RateLimit;
  backOff: () => BackOff;
}): LoginLimits {
  const { clock } = options;
  const byAddress = createFailureCount(MOST_KEYS);
  const byName = createFailureCount(MOST_KEYS);
  const byNameForLong = createFailureBackOff(clock, MOST_KEYS);
  const byPair = createFailureBackOff(clock, MOST_KEYS);
  const successes = createLru<string, number>(MOST_KEYS);

  function hasRecentSuccess(pair: string): boolean {
    const at = successes.get(pair);
    return at !== undefined && clock.monotonic() - at < RECENT_MS;
  }

  /** Always the address first: two attempts never wait for each other. */
  function partsOf(place: string, username: string): Part[] {
    const limit = options.limit();
    const backOff = options.backOff();
    const pair = pairOf(place, username);
    const longest = Math.ceil(backOff.longestMs / 1000);
    const address = partOf(byAddress, place, limit, LONGEST_RETRY_SECONDS);
    const both = partOf(byPair, pair, backOff, longest);
    if (hasRecentSuccess(pair)) return [address, both];
    const wide = { ...backOff, after: backOff.after * ADDRESSES_PER_NAME };
    const ofName = [
      partOf(byName, username, limit, LONGEST_RETRY_SECONDS),
      partOf(byNameForLong, username, wide, longest),
    ];
    const isSlowed = byPair.isSlowed(pair, backOff);
    return [address, ...(isSlowed ? ofName.map(part => ({ ...part, fail: async () => {} })) : ofName), both];
  }

  return {
    async reserve(address, username) {
      const place = addressPrefix(address);
      const held: Part[] = [];
      const release = (): void => {
        for (const part of held) part.release();
      };
      try {
        for (const part of partsOf(place, username)) {
          const waitMs = await part.reserve();
          if (waitMs > 0) throw rateLimited(REFUSED, waitMs, part.longestTold);
          held.push(part);
        }
      } catch (error) {
        release();
        throw error;
      }
      return {
        async failed() {
          const booked = held.map(part => part.fail());
          release();
          await Promise.all(booked);
        },
        succeeded() {
          const pair = pairOf(place, username);
          successes.set(pair, clock.monotonic());
          byPair.forgive(pair);
          release();
        },
        abandoned: release,
      };
    },
  };
}

const pairOf = (place: string, username: string): string => `${place} ${username}`;
