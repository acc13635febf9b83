import type { HttpClient } from '../lib/http/client.ts';
import type { Logger } from '../lib/logger.ts';
import type { ObservedClock } from '../lib/observed-clock.ts';
import type { CardinalityQuotas, LimitedResource } from './components/limits.ts';
import type { ComponentRegistry } from './components/registry.ts';
import type { MatchingLimit } from './engines/profile.ts';
import type { Ingester, RejectedIncrease } from './ingest/ingester.ts';
import type { ScrapeFailure } from './scrape/scrape-loop.ts';
import type { SeriesStore } from './series/series-store.ts';
import type { OperatorFiles } from './settings.ts';

/** Counts failures. */
export interface PipelineMeter {
  /** A scrape brought nothing. */
  scrapeFailed(pipeline: string, why: ScrapeFailure): void;
  /** A component or a series was refused, as there are as many as allowed. */
  refused(pipeline: string, what: LimitedResource): void;
  /** An increase was not counted, as its time may have been. */
  rejected(pipeline: string, why: RejectedIncrease): void;
}

/** The parts that all pipelines share. */
export interface PipelineContext {
  readonly http: HttpClient;
  readonly clock: ObservedClock;
  readonly random: () => number;
  readonly logger: Logger;
  readonly registry: ComponentRegistry;
  readonly store: SeriesStore;
  readonly ingester: Ingester;
  readonly files: OperatorFiles;
  readonly meter: PipelineMeter;
  /** Components that all of them may have together; undefined where there is no bound. */
  readonly quotas: CardinalityQuotas | undefined;
  /** Undefined where rules of users may take any time. */
  readonly matching: MatchingLimit | undefined;
}
