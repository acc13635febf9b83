import type { Cancel, Clock } from '../../lib/clock.ts';
import { reasonOf } from '../../lib/errors.ts';
import type { Logger } from '../../lib/logger.ts';
import type { PipelineState } from '../components/component.ts';
import type { PipelineContext } from '../context.ts';
import { profileOf } from '../engines/index.ts';
import { ruleLookup } from '../engines/profile.ts';
import { commitFailedScrape } from '../ingest/accumulator.ts';
import type { ScrapeSource } from '../ingest/source.ts';
import { isJsonEngine, type PullSettings } from '../settings.ts';
import { createFileDiscovery, type DiscoveredInstance } from './file-discovery.ts';
import {
  createJsonPageReader,
  createTextPageReader,
  type PageReader,
  type PageReaderContext,
} from './page-reader.ts';
import { type ScrapeFailure, type ScrapeResult, startScraping } from './scrape-loop.ts';

/** How reading goes, over all urls of a pipeline. */
interface ScraperState {
  readonly state: 'waiting' | 'reachable' | 'unreachable';
  readonly lastAt: number | null;
  readonly unreachableSince: number | null;
  /** What is wrong, also where some of it can be read. */
  readonly errors: readonly string[];
}

/** What reads the pages of one pipeline. */
export interface Scraper {
  start(): void;
  stop(): void;
  state(): ScraperState;
}

interface Options {
  readonly settings: PullSettings;
  readonly context: PipelineContext;
  readonly logger: Logger;
  readonly scrapeStatus: Pick<ScrapeStatus, 'succeeded' | 'failed'>;
  readonly sourceOf: (name: string) => ScrapeSource;
  /** Forgets every feed but those of these names. */
  readonly keepOnly: (names: ReadonlySet<string>) => void;
}

/** A url that is read, and how that goes. */
interface ScrapeLoop {
  readonly instance: DiscoveredInstance;
  readonly stop: Cancel;
  tried: boolean;
  error: string | null;
  since: number | null;
}

/** Reads the url of a pipeline, or those that its files list, each as an instance of its own. */
export function createScraper({
  settings,
  context,
  logger,
  scrapeStatus,
  sourceOf,
  keepOnly,
}: Options): Scraper {
  const { clock, files, meter } = context;
  const loops = new Map<string, ScrapeLoop>();
  const readerFor = readerFactory(settings, context);
  let lastAt: number | null = null;
  let unwatch: Cancel = () => {};
  let faults: readonly string[] = [];
  let faultsSince: number | null = null;

  function failed(loop: ScrapeLoop, reason: string, scrapeFailed: ScrapeFailure): void {
    scrapeStatus.failed();
    lastAt = clock.now();
    loop.since ??= lastAt;
    if (loop.error !== reason) logger.warn({ reason }, 'The pipeline cannot be read');
    loop.error = reason;
    meter.scrapeFailed(settings.id, scrapeFailed);
    const source = sourceOf(loop.instance.name);
    source.unreachable = reason;
    commitFailedScrape(source.instances.values(), clock.monotonic());
  }

  function succeeded(loop: ScrapeLoop, at: number): void {
    scrapeStatus.succeeded(at);
    lastAt = clock.now();
    if (loop.error !== null) logger.info({}, 'The pipeline can be read again');
    loop.error = null;
    loop.since = null;
  }

  function pageHandlerOf(loop: ScrapeLoop): (page: ScrapeResult) => void {
    const { origin } = new URL(loop.instance.url);
    const source = sourceOf(loop.instance.name);
    const read = readerFor();
    let warned = false;
    return page => {
      loop.tried = true;
      if ('error' in page) return failed(loop, page.error, page.scrapeFailed);
      const at = clock.monotonic();
      const reading = read(source, page.body, page.openMetrics);
      if (reading.error !== undefined) return failed(loop, `${origin}: ${reading.error}`, 'format');
      succeeded(loop, at);
      if (reading.bad > 0 && !warned)
        logger.warn({ lines: reading.bad }, 'Lines of the page cannot be read and are skipped');
      warned = reading.bad > 0;
    };
  }

  function guardedHandlerOf(loop: ScrapeLoop): (page: ScrapeResult) => void {
    const take = pageHandlerOf(loop);
    return page => {
      try {
        take(page);
      } catch (fault) {
        logger.error({ reason: reasonOf(fault) }, 'A page broke its reader');
        failed(loop, 'the page broke its reader; the log has the detail', 'format');
      }
    };
  }

  function add(instance: DiscoveredInstance): void {
    const loop: ScrapeLoop = {
      instance,
      tried: false,
      error: null,
      since: null,
      stop: startScraping({ ...context, settings, url: instance.url, onPage: page => take(page) }),
    };
    const take = guardedHandlerOf(loop);
    loops.set(keyOf(instance), loop);
  }

  function read(instances: readonly DiscoveredInstance[]): void {
    const wanted = new Map(instances.map(one => [keyOf(one), one]));
    for (const [key, loop] of loops) {
      if (wanted.has(key)) continue;
      loop.stop();
      loops.delete(key);
    }
    keepOnly(new Set(instances.map(({ name }) => name)));
    for (const [key, instance] of wanted) if (!loops.has(key)) add(instance);
  }

  function watch(paths: readonly string[]): void {
    const listsOf = createFileDiscovery(settings.engine);
    unwatch = files.watch(paths, now => {
      const lists = listsOf(now);
      const [fault] = lists.faults;
      if (fault !== undefined && lists.faults.join() !== faults.join())
        logger.error(
          { reason: lists.faults.join('; ') },
          'A list of instances cannot be read as a whole; those of before are read on',
        );
      if (fault === undefined && faults.length > 0)
        logger.info({}, 'The lists of instances can be read again');
      faultsSince = fault === undefined ? null : (faultsSince ?? clock.now());
      faults = lists.faults;
      read(lists.instances);
    });
  }

  return {
    start() {
      if (settings.url !== undefined) add({ url: settings.url, name: new URL(settings.url).host });
      else watch(settings.files ?? []);
    },
    stop() {
      unwatch();
      for (const { stop } of loops.values()) stop();
      loops.clear();
    },
    state() {
      const tried = [...loops.values()].filter(loop => loop.tried);
      const failing = tried.filter(({ error }) => error !== null);
      const isUnread =
        tried.length > 0 ? failing.length === tried.length : loops.size === 0 && faults.length > 0;
      const since = tried.length > 0 ? latestFailureOf(failing) : faultsSince;
      return {
        state: isUnread ? 'unreachable' : tried.length > 0 ? 'reachable' : 'waiting',
        lastAt,
        unreachableSince: isUnread ? since : null,
        errors: [...faults, ...summaryOf(failing, loops.size), ...trustFault(settings, context)],
      };
    },
  };
}

const keyOf = ({ name, url }: DiscoveredInstance): string => `${name}\n${url}`;

/** When the last of them failed: from then on nothing was read. */
const latestFailureOf = (loops: readonly ScrapeLoop[]): number | null =>
  loops.reduce<number | null>(
    (last, { since }) => (since === null ? last : Math.max(last ?? since, since)),
    null,
  );

function summaryOf(failing: readonly ScrapeLoop[], all: number): string[] {
  const error = failing[0]?.error;
  if (error === undefined || error === null) return [];
  return [all === 1 ? error : `${failing.length} of ${all} instances cannot be read, the first: ${error}`];
}

/** Files of `tls` that cannot be used while those of before still are. */
function trustFault({ tls }: PullSettings, { files }: PipelineContext): string[] {
  const found = tls && files.tls(tls);
  return found?.tls !== undefined && found.fault !== undefined ? [found.fault] : [];
}

/** Makes a reader for each url: they remember the page of before. What is the same for all is made once. */
function readerFactory(settings: PullSettings, { ingester }: PipelineContext): () => PageReader {
  const profile = profileOf(settings);
  const reading: PageReaderContext = { profile, rulesOf: ruleLookup(profile), ingester };
  const { engine } = settings;
  return () => (isJsonEngine(engine) ? createJsonPageReader(engine, reading) : createTextPageReader(reading));
}

/** How often one pipeline was asked or heard of, and for how long not. */
export interface ScrapeStatus {
  /** Something of it was read, or pushed. `at` is on the monotonic clock, before what came was taken in. */
  succeeded(at: number): void;
  failed(): void;
  /** It is watched from now on, after `unreachedMs` in which an earlier process heard nothing of it. */
  restore(unreachedMs: number): void;
  state(): Pick<PipelineState, 'readings' | 'unreachedMs'>;
}

export function createScrapeStatus(clock: Pick<Clock, 'monotonic'>): ScrapeStatus {
  let readings = 0;
  let lastSuccessAt = clock.monotonic();
  return {
    succeeded(at) {
      readings++;
      lastSuccessAt = at;
    },
    failed() {
      readings++;
    },
    restore(unreachedMs) {
      lastSuccessAt = clock.monotonic() - unreachedMs;
    },
    state: () => ({ readings, unreachedMs: clock.monotonic() - lastSuccessAt }),
  };
}
