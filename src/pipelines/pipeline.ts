import { AppError } from '../lib/errors.ts';
import type { Slices } from '../lib/slices.ts';
import type { PipelineState } from './components/component.ts';
import { type CardinalityLimit, createCardinalityLimit } from './components/limits.ts';
import type { ComponentState } from './components/state.ts';
import type { PipelineContext } from './context.ts';
import { createRsyslogReader, type RsyslogReader, type RsyslogReading } from './engines/rsyslog.ts';
import { createPointReader, type PushedValue, type ReadPoints } from './ingest/pushed.ts';
import {
  createFindingLog,
  createPipelineSources,
  createScrapeSource,
  dropComponent,
  dropScrapeSource,
  type FindingLog,
  type PipelineSources,
  type ScrapeSource,
  type ScrapeSourceParts,
  sharedNameNotice,
  sweepScrapeSource,
} from './ingest/source.ts';
import type { Impstats } from './parsers/impstats.ts';
import { type PushContent, PushRecognition } from './recognition.ts';
import { createScraper, createScrapeStatus, type Scraper, type ScrapeStatus } from './scrape/scraper.ts';
import type { PipelineSettings } from './settings.ts';
import { encodePipeline, restoreComponents, restoreScrapeSource } from './snapshot/codec.ts';
import type { PipelineRecord, PipelineSnapshot } from './snapshot/record.ts';

/** How many values of a push were kept, and how many increases were not counted, as their time may have been. */
interface PushedCount {
  readonly taken: number;
  readonly rejected: number;
}

interface PushedPoints {
  /** How many belong to an input or output. */
  readonly accepted: number;
  readonly ignored: number;
  /** How many of those that do are increases that were not counted, as their time may have been. */
  readonly rejected: number;
}

/** A configured pipeline at work. */
export interface Pipeline {
  readonly settings: PipelineSettings;
  readonly pushes: PipelineSources['pushes'];
  state(): PipelineState;
  /** Why a page or push that may name a component is not known yet; undefined when each is. */
  whyUnread(state: ComponentState): string | undefined;
  /** For how long none of its pages could be read, in observed ms; 0 when one was, and where it pushes. */
  unreadMs(): number;
  /** Resolves when the pages that are being read now are read. */
  idle(): Promise<void>;
  /** What the snapshot keeps. A page that is being read is read to its end first. */
  record(): PipelineSnapshot;
  /** Takes a record of it, which may be a part of what there is, before it is started. */
  restore(record: PipelineRecord): void;
  start(): void;
  stop(): void;
  /** Stops, and forgets its counters; with `components` those too. */
  drop(what: 'counters' | 'components'): void;
  /** Stops, and gives its counters to a pipeline that reads on. */
  detach(): PipelineSources;
  /**
   * Takes values of one sender. Only one push may be under way. `content` is asked for when they are read. Throws
   * `unavailable` when the pipeline was changed between two slices.
   */
  push(
    instance: string | undefined,
    rounds: Iterable<readonly PushedValue[]>,
    content: () => PushContent,
  ): Slices<PushedCount>;
  /** Takes points of one sender as they are read. */
  pushPoints(instance: string | undefined, read: ReadPoints): Slices<PushedPoints>;
  /** Takes rsyslog's objects of one sender; gives how many belong to an input or output. */
  pushStats(instance: string | undefined, stats: Impstats): Slices<number>;
  /** Forgets what is counted of a component, which stays. */
  dropComponent(state: ComponentState): void;
  sweep(forgotten: ReadonlySet<ComponentState>): void;
}

/** Senders are named by themselves; so many names from one pipeline are a mistake or an attack. */
const MOST_INSTANCES = 10_000;
const LONGEST_INSTANCE = 256;
/** Values that are taken between two pauses: one of a new series costs some microseconds. */
const VALUES_A_SLICE = 4000;

const SEEMS_RESET =
  'the counters fall again and again, or repeat themselves while a queue grows, as with resetCounters="on" of impstats: set resetCounters: true here, or leave it off there';

function rsyslogReadingOf(settings: PipelineSettings): RsyslogReading {
  const { queueCapacities = {}, resetCounters = false } = settings.engine === 'rsyslog' ? settings : {};
  return { capacities: new Map(Object.entries(queueCapacities)), resetCounters };
}

/** `from` are the sources of the same pipeline before a change of its settings. */
export const createPipeline = (
  settings: PipelineSettings,
  context: PipelineContext,
  from?: PipelineSources,
): Pipeline => new RunningPipeline(settings, context, from);

class RunningPipeline implements Pipeline {
  readonly settings: PipelineSettings;
  readonly pushes: PipelineSources['pushes'];
  readonly #context: PipelineContext;
  readonly #sources: Map<string, ScrapeSource>;
  readonly #readers: Map<string, RsyslogReader>;
  readonly #limit: CardinalityLimit;
  readonly #parts: ScrapeSourceParts;
  readonly #findings: FindingLog;
  readonly #status: ScrapeStatus;
  /** Undefined for a pipeline that pushes. */
  readonly #scraper: Scraper | undefined;
  readonly #valueOf: ReturnType<typeof createPointReader>;
  readonly #logger: PipelineContext['logger'];
  readonly #rsyslog: RsyslogReading;
  readonly #recognition: PushRecognition;
  /** Values that were taken since the last pause. */
  #sincePause = 0;
  /** Epoch ms of the last push. */
  #pushedAt: number | null = null;

  constructor(settings: PipelineSettings, context: PipelineContext, from: PipelineSources | undefined) {
    const logger = context.logger.child({ pipeline: settings.id });
    this.settings = settings;
    this.#context = context;
    this.#logger = logger;
    const { sources, readers, pushes } = from ?? createPipelineSources();
    this.#sources = sources;
    this.#readers = readers;
    this.pushes = pushes;
    this.#limit = createCardinalityLimit({
      limits: { ...settings, quotas: context.quotas },
      clock: context.clock,
      logger,
      refused: what => context.meter.refused(settings.id, what),
    });
    for (const source of this.#sources.values()) {
      source.limit = this.#limit;
      this.#limit.seriesCount += source.series.size;
    }
    this.#findings = createFindingLog(context.clock, logger);
    this.#parts = {
      pipeline: { pipeline: settings.id, group: settings.group, engine: settings.engine },
      limit: this.#limit,
      partial: settings.push === true,
      noted: this.#findings.note,
    };
    this.#status = createScrapeStatus(context.clock);
    this.#valueOf = createPointReader(settings, context.matching);
    this.#rsyslog = rsyslogReadingOf(settings);
    this.#recognition = new PushRecognition({
      ...{ settings, clock: context.clock, logger },
      unnamedMs: () => this.#unnamedMs(),
    });
    this.#scraper = this.#createScraper(logger);
  }

  start(): void {
    this.#scraper?.start();
  }

  stop(): void {
    this.#scraper?.stop();
  }

  *push(
    instance: string | undefined,
    rounds: Iterable<readonly PushedValue[]>,
    content: () => PushContent,
  ): Slices<PushedCount> {
    const source = this.#sourceOf(instance ?? this.settings.id);
    const at = this.#context.clock.monotonic();
    let [taken, rejected] = [0, 0];
    for (const round of rounds) {
      const count = yield* this.#pushRound(source, round);
      taken += count.taken;
      rejected += count.rejected;
    }
    if (this.#recognition.note(content(), at)) this.#status.succeeded(at);
    this.#pushedAt = this.#context.clock.now();
    return { taken, rejected };
  }

  *pushPoints(instance: string | undefined, read: ReadPoints): Slices<PushedPoints> {
    const values: PushedValue[] = [];
    let ignored = 0;
    let known = 0;
    yield* read(point => {
      const value = this.#valueOf(point);
      if (value !== undefined || this.#recognition.knows(point.name)) known++;
      if (value === undefined) ignored++;
      else values.push(value);
    });
    const total = values.length + ignored;
    const { rejected } = yield* this.push(instance, [values], () => ({ known, total, unit: 'points' }));
    return { accepted: values.length - rejected, ignored, rejected };
  }

  *pushStats(instance: string | undefined, { rounds, ignored }: Impstats): Slices<number> {
    const name = instance ?? this.settings.id;
    const reader = this.#readers.get(name) ?? createRsyslogReader();
    const settings = this.#rsyslog;
    const seemedReset = reader.seemsReset();
    let known = 0;
    function* values(): Iterable<readonly PushedValue[]> {
      for (const round of rounds) {
        const read = reader.read(round, settings);
        known += read.known;
        yield read.stats.map(({ series, mappings, value }) => ({
          series,
          describe: () => ({ instance: undefined, mappings }),
          value,
          time: Number.NaN,
          start: Number.NaN,
        }));
      }
    }
    const objects = rounds.reduce((sum, round) => sum + round.length, 0);
    yield* this.push(name, values(), () => ({ known: objects, total: objects + ignored, unit: 'lines' }));
    this.#readers.set(name, reader);
    if (reader.seemsReset() && !seemedReset)
      this.#logger.warn(
        { sender: name, reason: SEEMS_RESET },
        'Counters of rsyslog do not go on from where they were',
      );
    return known;
  }

  state(): PipelineState {
    const { settings } = this;
    const scraping = this.#scraper?.state();
    const unrecognised = this.#recognition.notice;
    const seemsReset = [...this.#readers.values()].some(reader => reader.seemsReset());
    const notices = [
      unrecognised,
      this.#limit.notice(),
      sharedNameNotice(this.#sources.values()),
      seemsReset ? SEEMS_RESET : undefined,
    ];
    const errors = [...(scraping?.errors ?? []), ...notices.filter(notice => notice !== undefined)];
    return {
      id: settings.id,
      engine: settings.engine,
      group: settings.group,
      mode: settings.push ? 'push' : 'pull',
      url: settings.push ? null : (settings.url ?? null),
      state: scraping?.state ?? (this.#pushedAt === null ? 'waiting' : 'reachable'),
      lastAt: scraping?.lastAt ?? this.#pushedAt,
      unreachableSince: scraping?.unreachableSince ?? null,
      error: errors.length === 0 ? null : errors.join('; '),
      unrecognised: scraping?.unrecognised ?? unrecognised ?? null,
      uncounted: this.#findings.last(),
      ...this.#status.state(),
      instances: settings.push
        ? this.#sources.size
        : [...this.#sources.values()].reduce((sum, { activeInstances }) => sum + activeInstances, 0),
      components: this.#context.registry.countIn(settings.id),
      bytesPerEvent: settings.bytesPerEvent ?? null,
    };
  }

  whyUnread(state: ComponentState): string | undefined {
    return this.#scraper === undefined ? this.#recognition.whyUnread(state) : this.#scraper.whyUnread();
  }

  unreadMs(): number {
    return this.#scraper?.whyUnread() === undefined ? 0 : this.#status.state().unreachedMs;
  }

  async idle(): Promise<void> {
    await this.#scraper?.idle();
  }

  record(): PipelineSnapshot {
    this.#scraper?.finish();
    const { registry, store, clock } = this.#context;
    return {
      ...encodePipeline(this.#parts.pipeline, { registry, store, sources: this.#sources.values(), clock }),
      unreachedMs: this.#status.state().unreachedMs,
    };
  }

  restore(record: PipelineRecord): void {
    const { registry, clock } = this.#context;
    const { settings } = this;
    this.#status.restore(record.unreachedMs);
    restoreComponents(record, registry, clock);
    // The instances that files list are not known yet; those no longer listed are forgotten when the files are read.
    const own = settings.push || settings.url === undefined ? undefined : new URL(settings.url).host;
    for (const one of record.feeds)
      if (own === undefined || one.name === own)
        restoreScrapeSource(this.#sourceOf(one.name), one, clock.monotonic());
  }

  detach(): PipelineSources {
    this.stop();
    return { sources: this.#sources, readers: this.#readers, pushes: this.pushes };
  }

  drop(what: 'counters' | 'components'): void {
    const { registry, store } = this.#context;
    this.stop();
    for (const source of this.#sources.values()) dropScrapeSource(source, store);
    this.#sources.clear();
    this.#readers.clear();
    if (what === 'components')
      for (const state of [...registry.inPipeline(this.settings.id)]) registry.remove(state);
  }

  dropComponent(state: ComponentState): void {
    for (const source of this.#sources.values()) dropComponent(source, this.#context.store, state);
  }

  sweep(forgotten: ReadonlySet<ComponentState>): void {
    const { store, clock } = this.#context;
    for (const source of this.#sources.values()) {
      sweepScrapeSource(source, store, forgotten, clock.monotonic());
      if (!source.partial || source.instances.size > 0) continue;
      this.#sources.delete(source.name);
      this.#readers.delete(source.name);
    }
  }

  /** For how long no push named any of its components; undefined without any. */
  #unnamedMs(): number | undefined {
    const { registry, clock } = this.#context;
    let last: number | undefined;
    for (const { lastSeenAt } of registry.inPipeline(this.settings.id))
      last = Math.max(last ?? lastSeenAt, lastSeenAt);
    return last === undefined ? undefined : clock.monotonic() - last;
  }

  *#pushRound(source: ScrapeSource, round: readonly PushedValue[]): Slices<PushedCount> {
    const { ingester, store, meter } = this.#context;
    ingester.begin(source);
    const own = ingester.enterOwnInstance(source);
    let [taken, rejected] = [0, 0];
    for (const { series } of round) {
      const firstEntry = source.series.get(series);
      if (firstEntry !== -1) (store.replicaOf(firstEntry)?.instance ?? own).repeated = true;
      if (this.#isPauseDue()) yield* this.#pause(source);
    }
    for (const value of round) {
      const result = ingester.append(source, value, value.describe);
      if (result === 'taken') taken++;
      else if (result === 'overlapping' || result === 'outdated') {
        rejected++;
        meter.rejected(this.settings.id, result);
      }
      if (this.#isPauseDue()) yield* this.#pause(source);
    }
    yield* ingester.commit(source, true);
    if (this.#isPauseDue()) yield* this.#pause(source);
    return { taken, rejected };
  }

  #isPauseDue(): boolean {
    if (++this.#sincePause < VALUES_A_SLICE) return false;
    this.#sincePause = 0;
    return true;
  }

  /** Throws `unavailable` when the source was dropped meanwhile: nothing must be added to it any more. */
  *#pause(source: ScrapeSource): Slices {
    yield;
    if (this.#sources.get(source.name) !== source)
      throw new AppError(
        'unavailable',
        `pipeline '${this.settings.id}' was changed while the push was read`,
        {
          isForCaller: true,
          retryAfterSeconds: 1,
        },
      );
  }

  #createScraper(logger: PipelineContext['logger']): Scraper | undefined {
    const { settings } = this;
    if (settings.push) return undefined;
    return createScraper({
      settings,
      context: this.#context,
      logger,
      scrapeStatus: this.#status,
      sourceOf: name => this.#sourceOf(name),
      keepOnly: names => this.#dropOthers(names),
    });
  }

  #sourceOf(name: string): ScrapeSource {
    let source = this.#sources.get(name);
    if (source === undefined) {
      if (this.#sources.size >= MOST_INSTANCES || name.length > LONGEST_INSTANCE || name === '')
        throw new AppError(
          'invalid-request',
          `pipeline '${this.settings.id}' takes at most ${MOST_INSTANCES} instances with names of 1 to ${LONGEST_INSTANCE} characters`,
        );
      source = createScrapeSource(name, this.#parts, this.#context.store);
      this.#sources.set(name, source);
    }
    return source;
  }

  /** Forgets the counters of instances that are no longer read; their inputs and outputs stay for a while. */
  #dropOthers(names: ReadonlySet<string>): void {
    for (const [name, source] of this.#sources) {
      if (names.has(name)) continue;
      dropScrapeSource(source, this.#context.store);
      this.#sources.delete(name);
    }
  }
}
