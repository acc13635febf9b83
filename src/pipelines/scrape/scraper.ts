import type { Cancel, Clock } from '../../lib/clock.ts';
import { reasonOf } from '../../lib/errors.ts';
import type { Logger } from '../../lib/logger.ts';
import { atOnce, inSlices, type Slices } from '../../lib/slices.ts';
import type { PipelineState } from '../components/component.ts';
import { unreadReason } from '../components/presence.ts';
import type { PipelineContext } from '../context.ts';
import { addressHint, profileOf } from '../engines/index.ts';
import { ruleLookup } from '../engines/profile.ts';
import { markUnread, type ScrapeSource } from '../ingest/source.ts';
import type { PullSettings } from '../settings.ts';
import { createFileDiscovery, type DiscoveredInstance } from './file-discovery.ts';
import { createJsonPageReader, createTextPageReader, type PageReader } from './page-reader.ts';
import { type ScrapeFailure, type ScrapeResult, startScraping } from './scrape-loop.ts';

/** The state of reading, over all urls of a pipeline. */
interface ScraperState {
  readonly state: 'waiting' | 'reachable' | 'unreachable';
  readonly lastAt: number | null;
  readonly unreachableSince: number | null;
  /** Reasons why it cannot be read, or not as a whole. */
  readonly errors: readonly string[];
  /** What a page holds in place of what its engine is known by. */
  readonly unrecognised: string | null;
}

/** Reads the url of a pipeline, or those that its files list, each as an instance of its own. */
export interface Scraper {
  start(): void;
  stop(): void;
  /** Resolves when the pages that are being read now are read. */
  idle(): Promise<void>;
  /** Reads the pages that are being read to their ends. */
  finish(): void;
  state(): ScraperState;
  /** Why a page that was never read yet cannot be; undefined when each was. */
  whyUnread(): string | undefined;
}

interface Options {
  readonly settings: PullSettings;
  readonly context: PipelineContext;
  readonly logger: Logger;
  readonly scrapeStatus: Pick<ScrapeStatus, 'succeeded' | 'failed'>;
  readonly sourceOf: (name: string) => ScrapeSource;
  /** Forgets every source but those of these names. */
  readonly keepOnly: (names: ReadonlySet<string>) => void;
}

/** A url that is read, with its state. */
interface ScrapeLoop {
  readonly instance: DiscoveredInstance;
  readonly stop: Cancel;
  /** A page that is being read, and when it will have been. */
  work: Slices | undefined;
  done: void | Promise<void>;
  tried: boolean;
  /** True once a page of it was good. */
  wasRead: boolean;
  error: string | null;
  failure: ScrapeFailure | undefined;
  /** Epoch ms since when it cannot be read; null while it can. */
  failingSince: number | null;
}

export const createScraper = (options: Options): Scraper => new PipelineScraper(options);

class PipelineScraper implements Scraper {
  readonly #options: Options;
  readonly #createReader: () => PageReader;
  readonly #loops = new Map<string, ScrapeLoop>();
  #lastAt: number | null = null;
  #unwatch: Cancel = () => {};
  /** Faults of the files that list instances, and since when there are any. */
  #listFaults: readonly string[] = [];
  #listFaultsSince: number | null = null;

  constructor(options: Options) {
    this.#options = options;
    this.#createReader = readerFactory(options.settings, options.context);
  }

  start(): void {
    const { url, files } = this.#options.settings;
    if (url !== undefined) this.#add({ url, name: new URL(url).host });
    else this.#watchFiles(files ?? []);
  }

  stop(): void {
    this.#unwatch();
    for (const loop of this.#loops.values()) stopLoop(loop);
    this.#loops.clear();
  }

  async idle(): Promise<void> {
    await Promise.all([...this.#loops.values()].map(({ done }) => done));
  }

  finish(): void {
    for (const { work } of this.#loops.values()) if (work !== undefined) atOnce(work);
  }

  state(): ScraperState {
    const loops = [...this.#loops.values()];
    const tried = loops.filter(loop => loop.tried);
    const failing = tried.filter(({ error }) => error !== null);
    const isUnreachable =
      tried.length > 0 ? failing.length === tried.length : loops.length === 0 && this.#listFaults.length > 0;
    const since = tried.length > 0 ? latestFailureOf(failing) : this.#listFaultsSince;
    return {
      state: isUnreachable ? 'unreachable' : tried.length > 0 ? 'reachable' : 'waiting',
      lastAt: this.#lastAt,
      unreachableSince: isUnreachable ? since : null,
      errors: [
        ...this.#listFaults,
        ...summaryOf(failing, loops.length),
        ...trustFault(this.#options.settings, this.#options.context),
      ],
      unrecognised: failing.find(({ failure }) => failure === 'unrecognised')?.error ?? null,
    };
  }

  whyUnread(): string | undefined {
    const unread = [...this.#loops.values()].find(({ wasRead }) => !wasRead);
    const isUnlisted = this.#loops.size === 0 && this.#listFaults.length > 0;
    const error = isUnlisted ? this.#listFaults.join('; ') : unread?.error;
    if (unread === undefined && !isUnlisted) return undefined;
    return error ? unreadReason(error) : 'its pipeline has not been read yet';
  }

  #watchFiles(paths: readonly string[]): void {
    const { settings, context, logger } = this.#options;
    const discover = createFileDiscovery(settings.engine);
    this.#unwatch = context.files.watch(paths, files => {
      const { instances, faults } = discover(files);
      const isFaulty = faults.length > 0;
      if (isFaulty && faults.join() !== this.#listFaults.join())
        logger.error(
          { reason: faults.join('; ') },
          'A list of instances cannot be read as a whole; those of before are read on',
        );
      if (!isFaulty && this.#listFaults.length > 0)
        logger.info({}, 'The lists of instances can be read again');
      this.#listFaultsSince = isFaulty ? (this.#listFaultsSince ?? context.clock.now()) : null;
      this.#listFaults = faults;
      this.#replaceAll(instances);
    });
  }

  #replaceAll(instances: readonly DiscoveredInstance[]): void {
    const wanted = new Map(instances.map(one => [keyOf(one), one]));
    for (const [key, loop] of this.#loops) {
      if (wanted.has(key)) continue;
      stopLoop(loop);
      this.#loops.delete(key);
    }
    this.#options.keepOnly(new Set(instances.map(({ name }) => name)));
    for (const [key, instance] of wanted) if (!this.#loops.has(key)) this.#add(instance);
  }

  #add(instance: DiscoveredInstance): void {
    const { settings, context } = this.#options;
    const loop: ScrapeLoop = {
      instance,
      work: undefined,
      done: undefined,
      tried: false,
      wasRead: false,
      error: null,
      failure: undefined,
      failingSince: null,
      stop: startScraping({
        ...context,
        settings,
        url: instance.url,
        onResult: result => handle(result),
      }),
    };
    const handle = this.#guardedHandlerOf(loop);
    this.#loops.set(keyOf(instance), loop);
  }

  #guardedHandlerOf(loop: ScrapeLoop): (result: ScrapeResult) => void | Promise<void> {
    const handle = this.#handlerOf(loop);
    return result => {
      loop.work = this.#guarded(loop, handle(result));
      loop.done = inSlices(loop.work);
      return loop.done;
    };
  }

  *#guarded(loop: ScrapeLoop, work: Slices): Slices {
    try {
      yield* work;
    } catch (fault) {
      this.#options.logger.error({ reason: reasonOf(fault) }, 'A page broke its reader');
      this.#failed(loop, 'the page broke its reader; the log has the detail', 'format');
    } finally {
      loop.work = undefined;
    }
  }

  #handlerOf(loop: ScrapeLoop): (result: ScrapeResult) => Slices {
    const { settings, context, logger, sourceOf } = this.#options;
    const { url } = loop.instance;
    const { origin } = new URL(url);
    const source = sourceOf(loop.instance.name);
    const read = this.#createReader();
    let isWarned = false;
    const fail = this.#failed.bind(this, loop);
    const succeed = this.#succeeded.bind(this, loop);
    return function* (result) {
      loop.tried = true;
      if ('error' in result) return fail(result.error, result.failure);
      const at = context.clock.monotonic();
      yield* read(source, result.body, result.openMetrics, ({ bad, fault }) => {
        if (fault !== undefined)
          return fail(`${origin}: ${fault.reason}${addressHint(settings.engine, url)}`, fault.kind);
        succeed(at);
        if (bad > 0 && !isWarned)
          logger.warn({ lines: bad }, 'Lines of the page cannot be read and are skipped');
        isWarned = bad > 0;
      });
    };
  }

  #failed(loop: ScrapeLoop, reason: string, failure: ScrapeFailure): void {
    const { settings, context, logger, scrapeStatus, sourceOf } = this.#options;
    const now = context.clock.now();
    scrapeStatus.failed();
    this.#lastAt = now;
    loop.failingSince ??= now;
    // A page of something else may have another number of series each time, which is no news.
    const isSame = failure === 'unrecognised' ? loop.failure === failure : loop.error === reason;
    if (!isSame) logger.warn({ reason }, 'The pipeline cannot be read');
    loop.error = reason;
    loop.failure = failure;
    context.meter.scrapeFailed(settings.id, failure);
    markUnread(sourceOf(loop.instance.name), reason, context.clock.monotonic());
  }

  #succeeded(loop: ScrapeLoop, at: number): void {
    const { context, logger, scrapeStatus } = this.#options;
    scrapeStatus.succeeded(at);
    this.#lastAt = context.clock.now();
    if (loop.error !== null) logger.info({}, 'The pipeline can be read again');
    loop.error = null;
    loop.failure = undefined;
    loop.wasRead = true;
    loop.failingSince = null;
  }
}

function stopLoop(loop: ScrapeLoop): void {
  loop.stop();
  loop.work?.return();
}

const keyOf = ({ name, url }: DiscoveredInstance): string => `${name}\n${url}`;

/** When the last of them failed: from then on nothing was read. */
const latestFailureOf = (loops: readonly ScrapeLoop[]): number | null =>
  loops.reduce<number | null>(
    (last, { failingSince }) => (failingSince === null ? last : Math.max(last ?? failingSince, failingSince)),
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

/** Makes a reader for each url, as readers remember the page before; what is the same for all is made once. */
function readerFactory(settings: PullSettings, context: PipelineContext): () => PageReader {
  const { ingester, registry, matching, clock } = context;
  const profile = profileOf(settings);
  const hasComponents = (): boolean => registry.countIn(settings.id) > 0;
  const reading = { profile, rulesOf: ruleLookup(profile, matching), ingester, clock, hasComponents };
  const { createReader } = profile;
  return createReader === undefined
    ? () => createTextPageReader(reading)
    : () => createJsonPageReader(createReader(), reading);
}

/** Counts how often one pipeline was read, or pushed, and for how long it was not. */
export interface ScrapeStatus {
  /** Something of it was read, or pushed. `at` is on the monotonic clock, before what came was taken in. */
  succeeded(at: number): void;
  failed(): void;
  /** It is observed from now on, after `unreachedMs` in which an earlier process did not reach it. */
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
