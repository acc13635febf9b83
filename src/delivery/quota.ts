import type { Cancel, Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import { Rate } from '../lib/rate.ts';
import { createPace } from './pace.ts';

/** How many deliveries the lanes of a workspace may begin together in any minute. */
export interface Quota {
  /** A lane's part; `wake` is called when it had to wait and its turn has come. */
  share(wake: () => void): Share;
  /** Why lanes wait, when they do. */
  readonly notice: string;
}

interface Share {
  /** Whether so many may begin now, and no other lane is before this one. If not, the lane is in the line. */
  admits(count: number): boolean;
  /** Whether so many may begin now. */
  fits(count: number): boolean;
  /** So many begin, and the lane's turn is over. */
  claim(count: number): Claim;
  readonly isWaiting: boolean;
  /** The earliest moment, on the monotonic clock, at which any lane may begin one. */
  freeAt(): number;
  /** The lane wants nothing any more. */
  end(): void;
}

/** What is under way in one request. */
export interface Claim {
  /** Whether that may be so many after all. If not, nothing of it may begin now, and nothing is counted. */
  covers(count: number): boolean;
  /** So many were sent: what is over counts no longer. */
  end(sent: number): void;
}

interface Options {
  readonly perMinute: number;
  readonly clock: Pick<Clock, 'monotonic' | 'after'>;
  readonly logger: Logger;
  /** Told each time that lanes begin to wait. */
  readonly reached: () => void;
}

const ALWAYS: Claim = { covers: () => true, end() {} };
const UNBOUNDED: Share = {
  admits: () => true,
  fits: () => true,
  claim: () => ALWAYS,
  isWaiting: false,
  freeAt: () => 0,
  end() {},
};
/** Where nobody bounds the workspace. */
export const NO_QUOTA: Quota = { share: () => UNBOUNDED, notice: '' };

/** The log says it at once, and then no more often. */
const QUIET_MS = 10 * 60_000;

/**
 * Lanes that wait are served in turn, one request each, so that a target with much to send keeps none of the others
 * waiting. None overtakes the first in the line, which may need room for all that travels together.
 */
export function createQuota({ perMinute, clock, logger, reached }: Options): Quota {
  const notice = `the workspace has begun the ${perMinute} deliveries that it may begin in a minute (hosted.quotas.deliveriesPerMinute); what is over waits its turn. Ask whoever runs this service for more`;
  const pace = createPace();
  pace.limit(new Rate(`${perMinute}/minute`, perMinute, 60_000));
  /** By what their lanes need, in the order they came. */
  const line = new Map<() => void, number>();
  /** Whose turn it is while the line is served. */
  let turn: (() => void) | undefined;
  let isServing = false;
  let isReached = false;
  let toldAt = Number.NEGATIVE_INFINITY;
  let cancel: Cancel = () => {};

  /** What travelled together once does so again, also where that is more than is allowed by now. */
  const bounded = (count: number): number => Math.min(count, perMinute);
  const isFree = (count: number): boolean => pace.freeAt(count) <= clock.monotonic();

  function serve(): void {
    isServing = true;
    for (const [wake, count] of line) {
      if (!isFree(count)) break;
      line.delete(wake);
      turn = wake;
      wake();
      turn = undefined;
    }
    isServing = false;
    isReached = line.size > 0;
    serveLater();
  }

  function serveLater(): void {
    cancel();
    const [first] = line.values();
    if (first !== undefined) cancel = clock.after(pace.freeAt(first) - clock.monotonic(), serve);
  }

  function wait(wake: () => void, count: number): void {
    if (line.get(wake) === count) return;
    line.set(wake, count);
    if (!isServing) serveLater();
    if (!isReached) tell();
  }

  function tell(): void {
    isReached = true;
    reached();
    const now = clock.monotonic();
    if (now - toldAt < QUIET_MS) return;
    toldAt = now;
    logger.warn({ reason: notice }, 'deliveries of the workspace wait');
  }

  function claimOf(first: number): Claim {
    let began = clock.monotonic();
    let held = bounded(first);
    pace.begun(began, held);

    function giveBack(count: number): void {
      if (count <= 0) return;
      pace.unused(began, count);
      held -= count;
      if (line.size > 0) serve();
    }

    return {
      covers(count) {
        const wanted = bounded(count);
        if (wanted <= held) return true;
        const isFirst = line.size === 0;
        giveBack(held);
        if (!isFirst || !isFree(wanted)) return false;
        began = clock.monotonic();
        held = wanted;
        pace.begun(began, held);
        return true;
      },
      end: sent => giveBack(held - bounded(sent)),
    };
  }

  return {
    notice,
    share(wake) {
      return {
        admits(count) {
          const wanted = bounded(count);
          if ((turn === wake || line.size === 0) && isFree(wanted)) return true;
          wait(wake, wanted);
          return false;
        },
        fits: count => isFree(bounded(count)),
        claim(count) {
          if (turn === wake) turn = undefined;
          return claimOf(count);
        },
        get isWaiting() {
          return line.has(wake);
        },
        freeAt: () => pace.freeAt(),
        end() {
          line.delete(wake);
          serve();
        },
      };
    },
  };
}
