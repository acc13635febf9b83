/**
 * How long to wait between attempts. `listed`: entry n is the wait after n attempts, so the first stands before the first
 * attempt, and after the last none is made. `growing`: the first wait, by what the next ones grow and up to where; given
 * up when the waits add up to as much as the list that stands for them would.
 */
export type RetrySchedule =
  | { readonly kind: 'listed'; readonly delays: readonly number[] }
  | { readonly kind: 'growing'; readonly firstMs: number; readonly rate: number; readonly mostMs: number };

const JITTER = 0.2;
const MAX_RETRY_AFTER_MS = 3_600_000;
/** From the second wait on, whatever the settings grow from: a constant 0 would spin. */
const MIN_GROWN_MS = 1000;

export interface DelayOptions {
  /** Milliseconds that growing waits may add up to: as long as the schedule of all targets. */
  readonly totalMs: number;
  /** 0 to 1, for the jitter. */
  readonly random: () => number;
  /** As the receiver requested. */
  readonly retryAfterMs?: number | undefined;
}

/**
 * Milliseconds until the next attempt after `attempts` were made, or undefined when none is to be made. Spread by ±20 %
 * so that what failed together is not tried again together. A receiver's Retry-After lengthens the wait up to 1 h and
 * never shortens it.
 */
export function nextDelay(
  schedule: RetrySchedule,
  attempts: number,
  options: DelayOptions,
): number | undefined {
  const delay =
    schedule.kind === 'listed'
      ? schedule.delays[attempts]
      : exponentialDelay(schedule, attempts, options.totalMs);
  if (delay === undefined) return undefined;
  const spread = Math.round(delay * (1 - JITTER + 2 * JITTER * options.random()));
  return Math.max(spread, clampRetryAfterMs(options.retryAfterMs ?? 0));
}

function exponentialDelay(
  { firstMs, rate, mostMs }: Extract<RetrySchedule, { kind: 'growing' }>,
  attempts: number,
  totalMs: number,
): number | undefined {
  let wait = firstMs;
  let total = firstMs;
  for (let made = 1; made < attempts && total <= totalMs; made++) {
    wait = Math.min(Math.max(wait, MIN_GROWN_MS) * rate, mostMs);
    total += wait;
  }
  return total <= totalMs ? wait : undefined;
}

/** As much of a receiver's Retry-After as is obeyed. */
export const clampRetryAfterMs = (retryAfterMs: number): number => Math.min(retryAfterMs, MAX_RETRY_AFTER_MS);

/** The most `nextDelay` can answer after `attempts` of a schedule were made, or by any waits that grow. */
export const maxDelay = (schedule: readonly number[], attempts: number): number =>
  Math.max((schedule[attempts] ?? 0) * (1 + JITTER), MAX_RETRY_AFTER_MS);
