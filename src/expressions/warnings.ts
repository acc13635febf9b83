import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import { createLru } from '../lib/lru.ts';

/** Where the text stands that failed. */
export interface ExpressionPlace {
  readonly notification?: string;
  readonly target?: string;
}

/** Counts and logs what failed in expressions and templates, and what they name that is unknown. */
export interface ExpressionWarnings {
  /** `reason` begins with the setting and a colon. The same of one place is logged once in ten minutes. */
  warn(place: ExpressionPlace, reason: string, details?: { readonly deliveryId: string }): void;
}

export interface ExpressionWarningsOptions {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly logger: Pick<Logger, 'warn'>;
  /** Called for each failure, also where nothing is logged. */
  readonly expressionFailed?: (() => void) | undefined;
}

/** How long the same failure of one place is not logged again. */
export const WARNING_INTERVAL_MS = 10 * 60_000;
const MAX_PLACES = 1000;

export function createExpressionWarnings(options: ExpressionWarningsOptions): ExpressionWarnings {
  const { clock, logger, expressionFailed } = options;
  const warnedAt = createLru<string, number>(MAX_PLACES);
  return {
    warn(place, reason, details) {
      expressionFailed?.();
      const now = clock.monotonic();
      const key = JSON.stringify([place.notification, place.target, reason.replace(/\d+/g, '#')]);
      if (now - (warnedAt.get(key) ?? Number.NEGATIVE_INFINITY) < WARNING_INTERVAL_MS) return;
      warnedAt.set(key, now);
      logger.warn({ ...place, ...details, reason }, 'an expression failed');
    },
  };
}
