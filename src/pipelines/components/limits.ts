import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/logger.ts';

/** A pipeline may have only so many of them. */
export type LimitedResource = 'components' | 'series';

interface Limits {
  readonly maxComponents: number;
  readonly maxSeries: number;
  /** What all pipelines of the workspace may have together; undefined where there is no bound. */
  readonly quotas?: CardinalityQuotas | undefined;
}

export type CardinalityQuotas = Readonly<Record<LimitedResource, number>>;

/** The limit that was reached: that of the pipeline, of its workspace, or of the process. */
type Scope = 'pipeline' | 'workspace' | 'everywhere';

/** How much one pipeline may keep, and what it was refused. */
export interface CardinalityLimit extends Limits {
  /** Series kept, over all its sources. */
  seriesCount: number;
  /** Notes that one more was refused. */
  recordRefusal(what: LimitedResource, scope: Scope): void;
  /** Names what is being refused, and the remedy; undefined when nothing was for a while. */
  notice(): string | undefined;
}

interface Options {
  readonly limits: Limits;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly logger: Logger;
  /** Called for each refusal. */
  readonly refused: (what: LimitedResource) => void;
}

/** A refusal is logged at once, and then no more often than this; refusals are over when there was none for as long. */
const LOG_INTERVAL_MS = 10 * 60_000;

const NOTICES = {
  components: ({ maxComponents }: Limits) =>
    `inputs and outputs beyond the ${maxComponents} of maxComponents are refused; raise it, or give them fewer ids`,
  series: ({ maxSeries }: Limits) =>
    `series beyond the ${maxSeries} of maxSeries are refused; raise it, or drop labels with many values at the engine`,
} as const;

const PROCESS_NOTICE = 'more than all pipelines together may have is refused; read fewer of them here';

const QUOTA_NOTICES = {
  components: most =>
    `inputs and outputs beyond the ${most} that a workspace may have over all its pipelines (hosted.quotas.components) are refused; read fewer of them, give them fewer ids, or ask the operator of this service for more`,
  series: most =>
    `series beyond the ${most} that a workspace may have over all its pipelines (hosted.quotas.series) are refused; read fewer of them, drop labels with many values at the engine, or ask the operator of this service for more`,
} as const satisfies Record<LimitedResource, (most: number) => string>;

function noticeOf(what: LimitedResource, scope: Scope, limits: Limits): string {
  if (scope === 'pipeline') return NOTICES[what](limits);
  return scope === 'workspace' && limits.quotas !== undefined
    ? QUOTA_NOTICES[what](limits.quotas[what])
    : PROCESS_NOTICE;
}

interface RefusalCount {
  notice: string;
  count: number;
  at: number;
  loggedAt: number;
}

export function createCardinalityLimit({ limits, clock, logger, refused }: Options): CardinalityLimit {
  const { maxComponents, maxSeries, quotas } = limits;
  const refusals = new Map<LimitedResource, RefusalCount>();
  return {
    maxComponents,
    maxSeries,
    quotas,
    seriesCount: 0,
    recordRefusal(what, scope) {
      refused(what);
      const now = clock.monotonic();
      const one = refusals.get(what) ?? { notice: '', count: 0, at: now, loggedAt: Number.NEGATIVE_INFINITY };
      refusals.set(what, one);
      one.notice = noticeOf(what, scope, limits);
      one.count++;
      one.at = now;
      if (now - one.loggedAt < LOG_INTERVAL_MS) return;
      logger.warn(
        { what, count: one.count, reason: one.notice },
        'A cardinality limit is reached, and more is refused',
      );
      one.loggedAt = now;
      one.count = 0;
    },
    notice() {
      const now = clock.monotonic();
      const recent = [...refusals.values()].filter(({ at }) => now - at < LOG_INTERVAL_MS);
      return recent.length === 0 ? undefined : recent.map(({ notice }) => notice).join('; ');
    },
  };
}
