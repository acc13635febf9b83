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
  return Math.max(spread, Math.min(retryAfterMs, LONGEST_WISH_MS));
}
