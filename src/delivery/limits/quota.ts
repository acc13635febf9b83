import type { Cancel, Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/logger.ts';
import { Rate } from '../../lib/rate.ts';
import { createRateLimiter } from './rate.ts';

/** How many deliveries the lanes of a workspace may begin together in any minute. */
export interface Quota {
  /** A lane's part; `wake` is called when it had to wait and its turn has come. */
  join(wake: () => void): QuotaMember;
  /** Why lanes wait, when they do. */
  readonly notice: string;
}

interface QuotaMember {
  /** Whether so many may begin now, and no other lane is before this one. If not, the lane is in the line. */
  tryAdmit(count: number): boolean;
  /** Whether so many may begin now. */
  hasTokens(count: number): boolean;
  /** So many begin, and the lane's turn is over. */
  reserve(count: number): TokenReservation;
  readonly isWaiting: boolean;
  /** The earliest moment, on the monotonic clock, at which any lane may begin one. */
  nextFreeAt(): number;
  /** The lane wants nothing any more. */
  leave(): void;
}

/** What is under way in one request. */
export interface TokenReservation {
  /** Whether that may be so many after all. If not, nothing of it may begin now, and nothing is counted. */
  tryResize(count: number): boolean;
  /** So many were sent: what is over counts no longer. */
  complete(sent: number): void;
}

interface QuotaOptions {
  readonly perMinute: number;
  readonly clock: Pick<Clock, 'monotonic' | 'after'>;
  readonly logger: Logger;
  /** Told each time that lanes begin to wait. */
  readonly onReached: () => void;
}

const UNLIMITED_RESERVATION: TokenReservation = { tryResize: () => true, complete() {} };
const UNLIMITED_MEMBER: QuotaMember = {
  tryAdmit: () => true,
  hasTokens: () => true,
  reserve: () => UNLIMITED_RESERVATION,
  isWaiting: false,
  nextFreeAt: () => 0,
  leave() {},
};
/** Where nobody bounds the workspace. */
export const NO_QUOTA: Quota = { join: () => UNLIMITED_MEMBER, notice: '' };

/** The log says it at once, and then no more often. */
const LOG_INTERVAL_MS = 10 * 60_000;

/**
 * Lanes that wait are served in turn, one request each, so that a target with much to send keeps none of the others
 * waiting. None overtakes the first in the line, which may need room for all that travels together.
 */
export function createQuota({ perMinute, clock, logger, onReached }: QuotaOptions): Quota {
  const notice = `the workspace has begun the ${perMinute} deliveries that it may begin in a minute (hosted.quotas.deliveriesPerMinute); what is over waits its turn. Ask whoever runs this service for more`;
  const rateLimiter = createRateLimiter();
  rateLimiter.setLimit(new Rate(`${perMinute}/minute`, perMinute, 60_000));
  /** By what their lanes need, in the order they came. */
  const waiters = new Map<() => void, number>();
  /** Whose turn it is while the line is served. */
  let current: (() => void) | undefined;
  let isServing = false;
  let isReached = false;
  let loggedAt = Number.NEGATIVE_INFINITY;
  let cancel: Cancel = () => {};

  /** What travelled together once does so again, also where that is more than is allowed by now. */
  const bounded = (count: number): number => Math.min(count, perMinute);
  const isFree = (count: number): boolean => rateLimiter.nextFreeAt(count) <= clock.monotonic();

  function serve(): void {
    isServing = true;
    for (const [wake, count] of waiters) {
      if (!isFree(count)) break;
      waiters.delete(wake);
      current = wake;
      wake();
      current = undefined;
    }
    isServing = false;
    isReached = waiters.size > 0;
    serveLater();
  }

  function serveLater(): void {
    cancel();
    const [first] = waiters.values();
    if (first !== undefined) cancel = clock.after(rateLimiter.nextFreeAt(first) - clock.monotonic(), serve);
  }

  function enqueue(wake: () => void, count: number): void {
    if (waiters.get(wake) === count) return;
    waiters.set(wake, count);
    if (!isServing) serveLater();
    if (!isReached) reportReached();
  }

  function reportReached(): void {
    isReached = true;
    onReached();
    const now = clock.monotonic();
    if (now - loggedAt < LOG_INTERVAL_MS) return;
    loggedAt = now;
    logger.warn({ reason: notice }, 'deliveries of the workspace wait');
  }

  function createReservation(first: number): TokenReservation {
    let startedAt = clock.monotonic();
    let reserved = bounded(first);
    rateLimiter.record(startedAt, reserved);

    function refund(count: number): void {
      if (count <= 0) return;
      rateLimiter.refund(startedAt, count);
      reserved -= count;
      if (waiters.size > 0) serve();
    }

    return {
      tryResize(count) {
        const wanted = bounded(count);
        if (wanted <= reserved) return true;
        const isFirst = waiters.size === 0;
        refund(reserved);
        if (!isFirst || !isFree(wanted)) return false;
        startedAt = clock.monotonic();
        reserved = wanted;
        rateLimiter.record(startedAt, reserved);
        return true;
      },
      complete: sent => refund(reserved - bounded(sent)),
    };
  }

  return {
    notice,
    join(wake) {
      return {
        tryAdmit(count) {
          const wanted = bounded(count);
          if ((current === wake || waiters.size === 0) && isFree(wanted)) return true;
          enqueue(wake, wanted);
          return false;
        },
        hasTokens: count => isFree(bounded(count)),
        reserve(count) {
          if (current === wake) current = undefined;
          return createReservation(count);
        },
        get isWaiting() {
          return waiters.has(wake);
        },
        nextFreeAt: () => rateLimiter.nextFreeAt(),
        leave() {
          waiters.delete(wake);
          serve();
        },
      };
    },
  };
}
