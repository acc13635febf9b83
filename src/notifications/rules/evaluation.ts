import type { Verdict } from '../../conditions/condition.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/logger.ts';

export interface DecisionInput {
  readonly verdict: Verdict['state'];
  readonly isOpen: boolean;
  /** Milliseconds since the condition began to hold; 0 when it holds for the first time. */
  readonly pendingMs: number;
  /** How long it must hold before the alarm. */
  readonly forMs: number;
  /** Milliseconds since the incident was last told. */
  readonly sinceNotifiedMs: number;
  /** How often an open incident is told again; null for never. */
  readonly repeatMs: number | null;
}

export type Decision = 'nothing' | 'hold' | 'open' | 'repeat' | 'close';

/** What a verdict means for a notification on one subject. */
export function decide(input: DecisionInput): Decision {
  const { verdict, isOpen, pendingMs: holdingMs, forMs, sinceNotifiedMs: toldMs, repeatMs } = input;
  if (verdict === 'unknown') return 'nothing';
  if (verdict === 'ok') return isOpen ? 'close' : 'nothing';
  if (!isOpen) return holdingMs >= forMs ? 'open' : 'hold';
  return repeatMs !== null && toldMs >= repeatMs ? 'repeat' : 'nothing';
}

/** How long one notification is not warned of again. */
const WARNING_INTERVAL_MS = 10 * 60_000;

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
      if (now - (warnedAt.get(notification) ?? Number.NEGATIVE_INFINITY) < WARNING_INTERVAL_MS) return;
      warnedAt.set(notification, now);
      logger.warn(
        { notification, subject, reason },
        'a condition cannot be worked out; nothing changes by it',
      );
    },
    /** Forgets notifications that are no more. */
    keep(remaining: ReadonlyMap<string, unknown>): void {
      for (const id of warnedAt.keys()) if (!remaining.has(id)) warnedAt.delete(id);
    },
  };
}
