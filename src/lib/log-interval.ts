import type { Clock } from './clock.ts';

const INTERVAL_MS = 10 * 60_000;

/**
 * Keeps what goes on for long to one line of the log in ten minutes: answers true, and counts that as logged, when the
 * last time of the same key is as long ago. There must be few keys.
 */
export function createLogInterval(clock: Pick<Clock, 'monotonic'>): (key?: string) => boolean {
  const loggedAt = new Map<string, number>();
  return (key = '') => {
    const now = clock.monotonic();
    if (now - (loggedAt.get(key) ?? Number.NEGATIVE_INFINITY) < INTERVAL_MS) return false;
    loggedAt.set(key, now);
    return true;
  };
}
