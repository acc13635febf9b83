import type { Clock } from '../lib/clock.ts';
import type { HttpClient } from '../lib/http/client.ts';
import type { Logger } from '../lib/logger.ts';
import type { LimitedResource } from './components/limits.ts';
import type { ComponentRegistry } from './components/registry.ts';
import type { Ingester } from './ingest/ingester.ts';
import type { ScrapeFailure } from './scrape/scrape-loop.ts';
import type { SeriesStore } from './series/series-store.ts';
import type { OperatorFiles } from './settings.ts';

/** Told what goes wrong, to be counted. */
export interface PipelineMeter {
  /** A reading brought nothing. */
  scrapeFailed(pipeline: string, why: ScrapeFailure): void;
  /** Something more was not taken, as there are as many as allowed. */
  refused(pipeline: string, what: LimitedResource): void;
}

/** What pipelines share. */
export interface PipelineContext {
  readonly http: HttpClient;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  readonly registry: ComponentRegistry;
  readonly store: SeriesStore;
  readonly ingester: Ingester;
  readonly files: OperatorFiles;
  readonly meter: PipelineMeter;
  /** Components that all of them may have together; undefined where nobody bounds them. */
  readonly componentQuota: number | undefined;
}
