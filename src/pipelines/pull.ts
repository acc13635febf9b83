import type { Cancel } from '../lib/clock.ts';
import { reasonOf } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import { profileOf } from './engines/index.ts';
import { ruleLookup } from './engines/profile.ts';
import type { Feed } from './feed.ts';
import { createInstanceLists, type ListedInstance } from './instance-list.ts';
import { createPageReader, type PageReader, type Reading } from './page.ts';
import type { Reach } from './reach.ts';
import { settleFailure } from './replica.ts';
import { type Page, startScraping, type Unread } from './scrape.ts';
import { isJsonEngine, type PullSettings } from './settings.ts';
import type { Shared } from './shared.ts';
import { createStatsPageReader } from './stats.ts';

/** How reading goes, over all urls of a pipeline. */
interface PullState {
  readonly state: 'waiting' | 'reachable' | 'unreachable';
  readonly lastAt: number | null;
  readonly unreachableSince: number | null;
  /** What is wrong, also where some of it can be read. */
  readonly errors: readonly string[];
}

/** What reads the pages of one pipeline. */
export interface Pull {
  start(): void;
  stop(): void;
  state(): PullState;
}

interface Options {
  readonly settings: PullSettings;
  readonly shared: Shared;
  readonly logger: Logger;
  readonly reach: Pick<Reach, 'reached' | 'failed'>;
  readonly feedOf: (name: string) => Feed;
  /** Forgets every feed but those of these names. */
  readonly keepOnly: (names: ReadonlySet<string>) => void;
}

/** A url that is read, and how that goes. */
interface Source {
  readonly instance: ListedInstance;
  readonly stop: Cancel;
  tried: boolean;
  error: string | null;
  since: number | null;
}

/** Reads the url of a pipeline, or those that its files list, each as an instance of its own. */
export function createPull({ settings, shared, logger, reach, feedOf, keepOnly }: Options): Pull {
  const { clock, files, meter } = shared;
  const sources = new Map<string, Source>();
  const readerFor = readerFactory(settings, shared);
  let lastAt: number | null = null;
  let unwatch: Cancel = () => {};
  let faults: readonly string[] = [];
  let faultsSince: number | null = null;

  function failed(source: Source, reason: string, unread: Unread): void {
    reach.failed();
    lastAt = clock.now();
    source.since ??= lastAt;
    if (source.error !== reason) logger.warn({ reason }, 'The pipeline cannot be read');
    source.error = reason;
    meter.unread(settings.id, unread);
    const feed = feedOf(source.instance.name);
    feed.unreachable = reason;
    settleFailure(feed.instances.values(), clock.monotonic());
  }

  function reached(source: Source, at: number): void {
    reach.reached(at);
    lastAt = clock.now();
    if (source.error !== null) logger.info({}, 'The pipeline can be read again');
    source.error = null;
    source.since = null;
  }

  function takerOf(source: Source): (page: Page) => void {
    const { origin } = new URL(source.instance.url);
    const feed = feedOf(source.instance.name);
    const read = readerFor();
    let warned = false;
    return page => {
      source.tried = true;
      if ('error' in page) return failed(source, page.error, page.unread);
      const at = clock.monotonic();
      const reading = read(feed, page.body, page.openMetrics);
      if (reading.error !== undefined) return failed(source, `${origin}: ${reading.error}`, 'format');
      reached(source, at);
      if (reading.bad > 0 && !warned)
        logger.warn({ lines: reading.bad }, 'Lines of the page cannot be read and are skipped');
      warned = reading.bad > 0;
    };
  }

  function guarded(source: Source): (page: Page) => void {
    const take = takerOf(source);
    return page => {
      try {
        take(page);
      } catch (fault) {
        logger.error({ reason: reasonOf(fault) }, 'A page broke its reader');
        failed(source, 'the page broke its reader; the log has the detail', 'format');
      }
    };
  }

  function add(instance: ListedInstance): void {
    const source: Source = {
      instance,
      tried: false,
      error: null,
      since: null,
      stop: startScraping({ ...shared, settings, url: instance.url, take: page => take(page) }),
    };
    const take = guarded(source);
    sources.set(keyOf(instance), source);
  }

  function read(instances: readonly ListedInstance[]): void {
    const wanted = new Map(instances.map(one => [keyOf(one), one]));
    for (const [key, source] of sources) {
      if (wanted.has(key)) continue;
      source.stop();
      sources.delete(key);
    }
    keepOnly(new Set(instances.map(({ name }) => name)));
    for (const [key, instance] of wanted) if (!sources.has(key)) add(instance);
  }

  function watch(paths: readonly string[]): void {
    const listsOf = createInstanceLists(settings.engine);
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
      for (const { stop } of sources.values()) stop();
      sources.clear();
    },
    state() {
      const tried = [...sources.values()].filter(source => source.tried);
      const failing = tried.filter(({ error }) => error !== null);
      const isUnread =
        tried.length > 0 ? failing.length === tried.length : sources.size === 0 && faults.length > 0;
      const since = tried.length > 0 ? latest(failing) : faultsSince;
      return {
        state: isUnread ? 'unreachable' : tried.length > 0 ? 'reachable' : 'waiting',
        lastAt,
        unreachableSince: isUnread ? since : null,
        errors: [...faults, ...summary(failing, sources.size), ...trustFault(settings, shared)],
      };
    },
  };
}

const keyOf = ({ name, url }: ListedInstance): string => `${name}\n${url}`;

/** When the last of them failed: from then on nothing was read. */
const latest = (sources: readonly Source[]): number | null =>
  sources.reduce<number | null>(
    (last, { since }) => (since === null ? last : Math.max(last ?? since, since)),
    null,
  );

function summary(failing: readonly Source[], all: number): string[] {
  const error = failing[0]?.error;
  if (error === undefined || error === null) return [];
  return [all === 1 ? error : `${failing.length} of ${all} instances cannot be read, the first: ${error}`];
}

/** Files of `tls` that cannot be used while those of before still are. */
function trustFault({ tls }: PullSettings, { files }: Shared): string[] {
  const found = tls && files.tls(tls);
  return found?.tls !== undefined && found.fault !== undefined ? [found.fault] : [];
}

/** Makes a reader for each url: they remember the page of before. What is the same for all is made once. */
function readerFactory(settings: PullSettings, { intake }: Shared): () => PageReader {
  const profile = profileOf(settings);
  const reading: Reading = { profile, rulesOf: ruleLookup(profile), intake };
  const { engine } = settings;
  return () => (isJsonEngine(engine) ? createStatsPageReader(engine, reading) : createPageReader(reading));
}
