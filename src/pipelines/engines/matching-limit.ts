import type { Clock } from '../../lib/clock.ts';
import { createLogInterval } from '../../lib/log-interval.ts';
import type { Logger } from '../../lib/logger.ts';
import { SpendingLimit } from '../../lib/spending-limit.ts';
import type { MatchingLimit } from './profile.ts';

/** After a pause so much more than in a second is matched at once, as when a large page is read for the first time. */
const SAVED_SECONDS = 10;

interface MatchingLimitOptions {
  /** Processor time that all pipelines of a workspace may take together. */
  readonly msPerSecond: number;
  /** Called for each name that has to wait. */
  readonly onReached: () => void;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly logger: Logger;
}

/** Names that have to wait are looked up when they come again. */
export function createMatchingLimit({
  msPerSecond,
  onReached,
  clock,
  logger,
}: MatchingLimitOptions): MatchingLimit {
  const limit = new SpendingLimit({ perSecond: msPerSecond, most: msPerSecond * SAVED_SECONDS, clock });
  const isLogDue = createLogInterval(clock);
  const reached = (): undefined => {
    onReached();
    if (!isLogDue()) return;
    const reason = `rules of pipelines take more than the ${msPerSecond} ms a second that they may (hosted.quotas.evaluationMsPerSecond); write fewer or simpler ones, or read fewer names of metrics`;
    logger.warn({ reason }, 'new names of metrics are matched later');
  };
  return {
    run(work) {
      if (limit.waitMs() > 0) return reached();
      const begun = clock.monotonic();
      const result = work();
      limit.spend(clock.monotonic() - begun);
      return result;
    },
  };
}
