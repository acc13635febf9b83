const JITTER = 0.2;
const LONGEST_WISH_MS = 3_600_000;

/**
 * Milliseconds until the next attempt after `attempts` were made, or undefined when the schedule is exhausted. Entry n of
 * the schedule is the wait after n attempts, so the first stands before the first attempt. Spread by ±20 % so that what
 * failed together is not tried again together. A receiver's Retry-After lengthens the wait up to 1 h and never shortens it.
 */
export function nextDelay(
  schedule: readonly number[],
  attempts: number,
  random: () => number,
  retryAfterMs = 0,
): number | undefined {
  const delay = schedule[attempts];
  if (delay === undefined) return undefined;
  const spread = Math.round(delay * (1 - JITTER + 2 * JITTER * random()));
  return Math.max(spread, obeyedMs(retryAfterMs));
}

/** As much of a receiver's Retry-After as is obeyed. */
export const obeyedMs = (retryAfterMs: number): number => Math.min(retryAfterMs, LONGEST_WISH_MS);

/** The most `nextDelay` can answer after `attempts` were made. */
export const longestDelay = (schedule: readonly number[], attempts: number): number =>
  Math.max((schedule[attempts] ?? 0) * (1 + JITTER), LONGEST_WISH_MS);
