import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';

/** How long one notification is not warned of again. */
const SILENT_MS = 10 * 60_000;

/** Warns of conditions that cannot be worked out, each notification's at most once in ten minutes. */
export function createConditionFaults({
  clock,
  logger,
}: {
  clock: Pick<Clock, 'monotonic'>;
  logger: Logger;
}) {
  const warnedAt = new Map<string, number>();
  return {
    warn(notification: string, subject: string, reason: string): void {
      const now = clock.monotonic();
      if (now - (warnedAt.get(notification) ?? Number.NEGATIVE_INFINITY) < SILENT_MS) return;
      warnedAt.set(notification, now);
      logger.warn(
        { notification, subject, reason },
        'a condition cannot be worked out; nothing changes by it',
      );
    },
    /** Forgets notifications that are no more. */
    keep(present: ReadonlyMap<string, unknown>): void {
      for (const id of warnedAt.keys()) if (!present.has(id)) warnedAt.delete(id);
    },
  };
}
