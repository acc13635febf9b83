import { AppError } from '../lib/errors.ts';

/** How a key stands, going by its failures alone. */
interface Standing {
  /** Milliseconds until the next attempt may be made; 0 when one may now. */
  readonly waitMs: number;
  /** How many attempts may be under way at once, as each of them may fail. */
  readonly free: number;
}

/** What is known of failures, by key. */
export interface FailureBook<Limit> {
  look(key: string, limit: Limit): Promise<Standing> | Standing;
  /** Has booked the failure for whoever looks after the call, be it before it resolves. */
  book(key: string, limit: Limit): Promise<void> | void;
}

/**
 * Failures by key. An attempt is reserved before it is judged, so guesses made in parallel cannot pass the limit;
 * whoever comes while the reserved ones could still use it up waits for their outcome, as they may all be right.
 */
export interface FailureGate<Limit> {
  /**
   * Answers 0 when the attempt may go on, and must then be released; else the milliseconds to wait.
   * Throws `unavailable` when too many wait for the outcome of others.
   */
  reserve(key: string, limit: Limit): Promise<number>;
  release(key: string): void;
  /** Called before `release`, in the same turn. */
  fail(key: string, limit: Limit): Promise<void>;
}

/** What is under way for one key. */
interface Gate {
  /** Attempts in `reserve` or reserved: the gate is kept as long as there are any. */
  users: number;
  reserved: number;
  /** How many were ever released, to see whether one was while the count was being read. */
  releases: number;
  waiting: (() => void)[];
}

const MOST_WAITING = 256;
const RETRY_AFTER_SECONDS = 2;

/** The limit comes with each call, so that a changed setting counts at once. */
export function createFailureGate<Limit>(
  failures: FailureBook<Limit>,
  mostWaiting = MOST_WAITING,
): FailureGate<Limit> {
  const gates = new Map<string, Gate>();
  let waiting = 0;

  function enter(key: string): Gate {
    const gate = gates.get(key) ?? { users: 0, reserved: 0, releases: 0, waiting: [] };
    gate.users += 1;
    gates.set(key, gate);
    return gate;
  }

  function leave(key: string, gate: Gate): void {
    gate.users -= 1;
    if (gate.users === 0) gates.delete(key);
  }

  async function nextRelease(gate: Gate): Promise<void> {
    if (waiting >= mostWaiting)
      throw new AppError('unavailable', 'Too many logins at once; try again shortly', {
        retryAfterSeconds: RETRY_AFTER_SECONDS,
      });
    waiting += 1;
    await new Promise<void>(resolve => gate.waiting.push(resolve));
    waiting -= 1;
  }

  /** Milliseconds to wait; 0 once a place is taken. */
  async function takePlace(gate: Gate, key: string, limit: Limit): Promise<number> {
    for (;;) {
      const { releases } = gate;
      const { waitMs, free } = await failures.look(key, limit);
      // A failure booked meanwhile is not in what was read.
      if (gate.releases !== releases) continue;
      if (waitMs > 0) return waitMs;
      if (gate.reserved < free) {
        gate.reserved += 1;
        return 0;
      }
      await nextRelease(gate);
    }
  }

  return {
    async reserve(key, limit) {
      const gate = enter(key);
      let isReserved = false;
      try {
        const waitMs = await takePlace(gate, key, limit);
        isReserved = waitMs === 0;
        return waitMs;
      } finally {
        if (!isReserved) leave(key, gate);
      }
    },
    release(key) {
      const gate = gates.get(key);
      if (gate === undefined) return;
      gate.reserved -= 1;
      gate.releases += 1;
      for (const wake of gate.waiting.splice(0)) wake();
      leave(key, gate);
    },
    fail: async (key, limit) => failures.book(key, limit),
  };
}
