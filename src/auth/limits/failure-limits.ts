import type { Clock } from '../../lib/clock.ts';
import { AppError } from '../../lib/errors.ts';
import { createLru } from '../../lib/lru.ts';

/** The availability of a key by its failures alone. */
interface Availability {
  /** Milliseconds until the next attempt may be made; 0 when one may now. */
  readonly waitMs: number;
  /** How many attempts may be under way at once, as each of them may fail. */
  readonly available: number;
}

/** Failures by key. */
interface FailureStore<Limit> {
  check(key: string, limit: Limit): Promise<Availability> | Availability;
  /** A `check` after the call sees the failure, also before the promise resolves. */
  record(key: string, limit: Limit): Promise<void> | void;
}

/**
 * Limits failures by key. An attempt is reserved before it is checked, so guesses made in parallel cannot pass the
 * limit; an attempt that comes while the reserved ones could still use it up waits for their outcome, as they may all
 * be right.
 */
export interface FailureLimiter<Limit> {
  /**
   * Returns 0 when the attempt may go on, and must then be released; else the milliseconds to wait.
   * Throws `unavailable` when too many wait for the outcome of others.
   */
  reserve(key: string, limit: Limit): Promise<number>;
  release(key: string): void;
  /** Called before `release`, synchronously. */
  fail(key: string, limit: Limit): Promise<void>;
  /** True while an attempt of the key is in `reserve`, or reserved. */
  isBusy(key: string): boolean;
}

/** The attempts of one key that are in progress. */
interface KeyState {
  /** Attempts in `reserve` or reserved: the state is kept as long as there are any. */
  users: number;
  reserved: number;
  /** Counts releases, to notice one while the failures were being read. */
  releases: number;
  waiting: (() => void)[];
}

const MOST_WAITING = 256;
const RETRY_AFTER_SECONDS = 2;

/** The limit is an argument of each call, so that a changed setting takes effect at once. */
function createFailureLimiter<Limit>(
  failures: FailureStore<Limit>,
  mostWaiting = MOST_WAITING,
): FailureLimiter<Limit> {
  const states = new Map<string, KeyState>();
  let waiting = 0;

  function enter(key: string): KeyState {
    const state = states.get(key) ?? { users: 0, reserved: 0, releases: 0, waiting: [] };
    state.users += 1;
    states.set(key, state);
    return state;
  }

  function leave(key: string, state: KeyState): void {
    state.users -= 1;
    if (state.users === 0) states.delete(key);
  }

  async function nextRelease(state: KeyState): Promise<void> {
    if (waiting >= mostWaiting)
      throw new AppError('unavailable', 'Too many logins at once; try again shortly', {
        isForCaller: true,
        retryAfterSeconds: RETRY_AFTER_SECONDS,
      });
    waiting += 1;
    await new Promise<void>(resolve => state.waiting.push(resolve));
    waiting -= 1;
  }

  /** Returns milliseconds to wait; 0 once a place is taken. */
  async function takePlace(state: KeyState, key: string, limit: Limit): Promise<number> {
    for (;;) {
      const { releases } = state;
      const { waitMs, available } = await failures.check(key, limit);
      // A failure recorded meanwhile is not in what was read.
      if (state.releases !== releases) continue;
      if (waitMs > 0) return waitMs;
      if (state.reserved < available) {
        state.reserved += 1;
        return 0;
      }
      await nextRelease(state);
    }
  }

  return {
    async reserve(key, limit) {
      const state = enter(key);
      let isReserved = false;
      try {
        const waitMs = await takePlace(state, key, limit);
        isReserved = waitMs === 0;
        return waitMs;
      } finally {
        if (!isReserved) leave(key, state);
      }
    },
    release(key) {
      const state = states.get(key);
      if (state === undefined) return;
      state.reserved -= 1;
      state.releases += 1;
      for (const wake of state.waiting.splice(0)) wake();
      leave(key, state);
    },
    fail: async (key, limit) => failures.record(key, limit),
    isBusy: key => states.has(key),
  };
}

/** At most `count` failures in each span of `perMs`, which begins with the first of them. */
export interface RateLimit {
  readonly count: number;
  readonly perMs: number;
}

interface CountedSpan {
  readonly count: number;
  /** Monotonic milliseconds. */
  readonly endsAt: number;
}

/** Holds `mostKeys` of them: many addresses only push out the oldest counts. */
export function createFailureWindow(
  clock: Pick<Clock, 'monotonic'>,
  mostKeys: number,
  mostWaiting?: number,
): FailureLimiter<RateLimit> {
  const spans = createLru<string, CountedSpan>(mostKeys);

  function spanOf(key: string): CountedSpan | undefined {
    const span = spans.get(key);
    return span === undefined || span.endsAt <= clock.monotonic() ? undefined : span;
  }

  return createFailureLimiter(
    {
      check(key, limit) {
        const { count, endsAt } = spanOf(key) ?? { count: 0, endsAt: 0 };
        const waitMs = count >= limit.count ? endsAt - clock.monotonic() : 0;
        return { waitMs, available: limit.count - count };
      },
      record(key, limit) {
        const { count, endsAt } = spanOf(key) ?? { count: 0, endsAt: clock.monotonic() + limit.perMs };
        spans.set(key, { count: count + 1, endsAt });
      },
    },
    mostWaiting,
  );
}

/** From the `after`th failure on, a wait after each: 1 s at first, twice as long each time, at most `longestMs`. */
export interface BackOffPolicy {
  /** 0 for never. */
  readonly after: number;
  readonly longestMs: number;
}

export interface FailureBackOff extends FailureLimiter<BackOffPolicy> {
  /** True once the failures of the key make it wait. */
  isSlowed(key: string, limit: BackOffPolicy): boolean;
  /** True while the key has neither failed nor attempts under way. */
  isFresh(key: string): boolean;
  /** Forgets the failures of the key. */
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

  const isSlowed = (count: number, { after }: BackOffPolicy): boolean => after > 0 && count >= after;

  function waitMsOf({ count, lastAt }: Failures, limit: BackOffPolicy): number {
    if (!isSlowed(count, limit)) return 0;
    const grownMs = FIRST_WAIT_MS * 2 ** Math.min(count - limit.after, MOST_DOUBLED);
    return Math.max(0, lastAt + Math.min(grownMs, limit.longestMs) - clock.monotonic());
  }

  const limiter = createFailureLimiter<BackOffPolicy>({
    check(key, limit) {
      const failures = failuresOf(key);
      const free = limit.after === 0 ? Number.POSITIVE_INFINITY : Math.max(1, limit.after - failures.count);
      return { waitMs: waitMsOf(failures, limit), available: free };
    },
    record(key) {
      known.set(key, { count: failuresOf(key).count + 1, lastAt: clock.monotonic() });
    },
  });
  return {
    ...limiter,
    isSlowed: (key, limit) => isSlowed(failuresOf(key).count, limit),
    isFresh: key => failuresOf(key).count === 0 && !limiter.isBusy(key),
    forgive: known.delete,
  };
}
