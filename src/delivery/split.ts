import { isTriedAgain, type Outcome } from '../targets/outcome.ts';

/** Failed attempts at a batch before it is taken apart: the first may be due to the moment. */
const FAILURES_BEFORE_SPLIT = 2;
/** Between an attempt at a batch and those at its halves, in milliseconds. */
export const SPLIT_PAUSE_MS = 1000;

/**
 * What is known of a batch that its receiver failed over. Kept in memory: a restart costs a batch another attempt as a
 * whole, and none of its events, since a batch leaves its last attempt in halves whatever is known of it.
 */
export interface FailedBatch {
  readonly failures: number;
  /** When it, or what it is a part of, last failed while the receiver took nothing else, on the monotonic clock. */
  readonly failedAt: number;
  /** It is taken apart although nothing arrives at the receiver: of several batches of one origin only the first. */
  readonly isProbe: boolean;
}

interface FailedAttempt {
  readonly outcome: Outcome;
  /** Deliveries of the request. */
  readonly size: number;
  readonly before: FailedBatch | undefined;
  /** When the receiver last took anything, on the monotonic clock; undefined for never. */
  readonly lastSentAt: number | undefined;
  /** The schedule has no other attempt. */
  readonly isLast: boolean;
}

/** `when`: at once, or by the schedule. */
export interface Split {
  readonly into: 'single deliveries' | 'halves';
  readonly isAtOnce: boolean;
}

/**
 * The one rule by which deliveries leave a batch that failed, so that one that its receiver cannot take keeps no other from
 * arriving. One that is refused for its content goes on as single deliveries. One that the receiver broke down over, or did not
 * answer, goes on in halves from its second failure on: at once when the receiver takes others, else by the schedule and only
 * the first part of it, so that an outage costs one request more at each step; and at once before it is given up. What says
 * that nothing would be taken now (no connection, 401, 403, 404, 429, 503) never takes a batch apart. A batch of n is thus
 * sent in 2n - 1 pieces at most.
 */
export function splitOf({ outcome, size, before, lastSentAt, isLast }: FailedAttempt): Split | undefined {
  if (size < 2) return undefined;
  if (outcome.kind === 'refused' && outcome.isAboutMessage === true)
    return { into: 'single deliveries', isAtOnce: true };
  if (!mayBeAboutOne(outcome)) return undefined;
  if (isLast) return { into: 'halves', isAtOnce: true };
  if (before === undefined || before.failures + 1 < FAILURES_BEFORE_SPLIT) return undefined;
  if (lastSentAt !== undefined && lastSentAt > before.failedAt) return { into: 'halves', isAtOnce: true };
  return before.isProbe ? { into: 'halves', isAtOnce: false } : undefined;
}

/** One of several messages may have caused it. */
const mayBeAboutOne = (outcome: Outcome): boolean =>
  outcome.kind === 'unknown' || (outcome.kind === 'retry' && outcome.mayBeAboutMessage === true);

/** What is known of a batch after another attempt at all of it. */
export function afterFailure(
  outcome: Outcome,
  before: FailedBatch | undefined,
  now: number,
): FailedBatch | undefined {
  if (!isTriedAgain(outcome)) return undefined;
  if (!mayBeAboutOne(outcome)) return before;
  return { failures: (before?.failures ?? 0) + 1, failedAt: now, isProbe: before?.isProbe ?? true };
}

/**
 * What is known of a half: it has failed once, together with the other. Where the receiver takes others it goes on being
 * taken apart at once.
 */
export const halfAfter = (
  before: FailedBatch | undefined,
  now: number,
  { isFirst, isAtOnce }: { readonly isFirst: boolean; readonly isAtOnce: boolean },
): FailedBatch => ({
  failures: FAILURES_BEFORE_SPLIT - 1,
  failedAt: isAtOnce ? (before?.failedAt ?? now) : now,
  isProbe: isFirst && (before?.isProbe ?? true),
});
