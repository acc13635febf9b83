import { AppError } from '../lib/errors.ts';
import type { PipelineState } from './components/component.ts';
import { createCardinalityLimit } from './components/limits.ts';
import type { ComponentState } from './components/state.ts';
import type { PipelineContext } from './context.ts';
import { createRsyslogReader, type RsyslogReader } from './engines/rsyslog.ts';
import { createPointReader, type PushedValue } from './ingest/pushed.ts';
import {
  createScrapeSource,
  dropScrapeSource,
  type ScrapeSource,
  type ScrapeSourceParts,
  sweepScrapeSource,
} from './ingest/source.ts';
import type { StatsObject } from './parsers/impstats.ts';
import type { Point } from './parsers/point.ts';
import { createScraper, createScrapeStatus } from './scrape/scraper.ts';
import type { PipelineSettings } from './settings.ts';
import { encodePipeline, restoreComponents, restoreScrapeSource } from './snapshot/codec.ts';
import type { PipelineRecord } from './snapshot/file.ts';

/** What is known of each url or sender of a pipeline, by its name. */
export interface PipelineSources {
  readonly sources: Map<string, ScrapeSource>;
  readonly readers: Map<string, RsyslogReader>;
}

/** A configured pipeline at work. */
export interface Pipeline {
  readonly settings: PipelineSettings;
  state(): PipelineState;
  record(): PipelineRecord;
  restore(record: PipelineRecord): void;
  start(): void;
  stop(): void;
  /** Stops, and forgets its counters; with `components` those too. */
  drop(what: 'counters' | 'components'): void;
  /** Stops, and hands its counters to a pipeline that reads on. */
  detach(): PipelineSources;
  /** Takes values of one sender; says how many found room. */
  push(instance: string | undefined, rounds: readonly (readonly PushedValue[])[]): number;
  /** Takes points of one sender; says how many told something of an input or output. */
  pushPoints(instance: string | undefined, points: readonly Point[]): number;
  /** Takes rsyslog's objects of one sender; says how many told something of an input or output. */
  pushStats(instance: string | undefined, rounds: readonly (readonly StatsObject[])[]): number;
  sweep(forgotten: ReadonlySet<ComponentState>): void;
}

/** Senders are named by themselves; so many names from one pipeline are a mistake or an attack. */
const MOST_INSTANCES = 10_000;
const LONGEST_INSTANCE = 256;

export function createPipeline(
  settings: PipelineSettings,
  context: PipelineContext,
  from?: PipelineSources,
): Pipeline {
  const { clock, registry, store, ingester } = context;
  const logger = context.logger.child({ pipeline: settings.id });
  const identity = { pipeline: settings.id, group: settings.group, engine: settings.engine };
  const { sources, readers } = from ?? {
    sources: new Map<string, ScrapeSource>(),
    readers: new Map<string, RsyslogReader>(),
  };
  const limit = createCardinalityLimit({
    limits: { ...settings, componentQuota: context.componentQuota },
    clock,
    logger,
    refused: what => context.meter.refused(settings.id, what),
  });
  const parts: ScrapeSourceParts = { pipeline: identity, limit, partial: settings.push === true };
  for (const source of sources.values()) {
    source.limit = limit;
    limit.seriesCount += source.series.size;
  }
  const valuesOfPoints = createPointReader(settings);
  const scrapeStatus = createScrapeStatus(clock);
  let pushedAt: number | null = null;
  const capacities = new Map(
    settings.engine === 'rsyslog' ? Object.entries(settings.queueCapacities ?? {}) : [],
  );

  function sourceOf(name: string): ScrapeSource {
    let source = sources.get(name);
    if (source === undefined) {
      if (sources.size >= MOST_INSTANCES || name.length > LONGEST_INSTANCE || name === '')
        throw new AppError(
          'invalid-request',
          `pipeline '${settings.id}' takes at most ${MOST_INSTANCES} instances with names of 1 to ${LONGEST_INSTANCE} characters`,
        );
      source = createScrapeSource(name, parts, store);
      sources.set(name, source);
    }
    return source;
  }

  const scraper = settings.push
    ? undefined
    : createScraper({ settings, context, logger, scrapeStatus, sourceOf, keepOnly: dropOthers });

  /** Forgets the counters of instances that are no longer read; their inputs and outputs stay for a while. */
  function dropOthers(names: ReadonlySet<string>): void {
    for (const [name, source] of sources) {
      if (names.has(name)) continue;
      dropScrapeSource(source, store);
      sources.delete(name);
    }
  }

  function errors(): string[] {
    const notice = limit.notice();
    return [...(scraper?.state().errors ?? []), ...(notice === undefined ? [] : [notice])];
  }

  function push(instance: string | undefined, rounds: readonly (readonly PushedValue[])[]): number {
    const source = sourceOf(instance ?? settings.id);
    const at = clock.monotonic();
    let taken = 0;
    for (const round of rounds) {
      ingester.begin(source);
      const own = ingester.enterOwnInstance(source);
      for (const { series } of round) {
        const firstEntry = source.series.get(series);
        if (firstEntry !== -1) (store.replica[firstEntry]?.instance ?? own).repeated = true;
      }
      for (const { series, discover, value, time } of round) {
        const result = ingester.append(source, series, value, time, discover);
        if (result === 'taken') taken++;
      }
      ingester.commit(source, true);
    }
    scrapeStatus.succeeded(at);
    pushedAt = clock.now();
    return taken;
  }

  return {
    settings,
    push,
    start: () => scraper?.start(),
    stop: () => scraper?.stop(),
    pushPoints(instance, points) {
      const values = valuesOfPoints(points);
      push(instance, [values]);
      return values.length;
    },
    pushStats(instance, rounds) {
      const name = instance ?? settings.id;
      const reader = readers.get(name) ?? createRsyslogReader();
      const read = rounds.map(round => reader.read(round, capacities));
      push(
        name,
        read.map(({ stats }) =>
          stats.map(({ series, mappings, value }) => ({
            series,
            discover: () => ({ instance: undefined, mappings }),
            value,
            time: Number.NaN,
          })),
        ),
      );
      readers.set(name, reader);
      return read.reduce((sum, { known }) => sum + known, 0);
    },
    state() {
      const reading = scraper?.state();
      const messages = errors();
      return {
        id: settings.id,
        engine: settings.engine,
        group: settings.group,
        mode: settings.push ? 'push' : 'pull',
        url: settings.push ? null : (settings.url ?? null),
        state: reading?.state ?? (pushedAt === null ? 'waiting' : 'reachable'),
        lastAt: reading?.lastAt ?? pushedAt,
        unreachableSince: reading?.unreachableSince ?? null,
        error: messages.length === 0 ? null : messages.join('; '),
        ...scrapeStatus.state(),
        instances: settings.push
          ? sources.size
          : [...sources.values()].reduce((sum, { activeInstances: active }) => sum + active, 0),
        components: registry.countIn(settings.id),
        bytesPerEvent: settings.bytesPerEvent ?? null,
      };
    },
    record: () => ({
      ...encodePipeline(identity, { registry, store, feeds: sources.values(), clock }),
      unreachedMs: scrapeStatus.state().unreachedMs,
    }),
    restore(record) {
      scrapeStatus.restore(record.unreachedMs);
      restoreComponents(record, registry, clock);
      // What files list is not known yet: what they no longer do is forgotten when they have been read.
      const own = settings.push || settings.url === undefined ? undefined : new URL(settings.url).host;
      for (const one of record.feeds)
        if (own === undefined || one.name === own)
          sources.set(one.name, restoreScrapeSource(one, parts, { store, monotonic: clock.monotonic() }));
    },
    detach() {
      scraper?.stop();
      return { sources, readers };
    },
    drop(what) {
      scraper?.stop();
      for (const source of sources.values()) dropScrapeSource(source, store);
      sources.clear();
      readers.clear();
      if (what === 'components')
        for (const state of [...registry.inPipeline(settings.id)]) registry.remove(state);
    },
    sweep(forgotten) {
      for (const source of sources.values()) {
        sweepScrapeSource(source, store, forgotten, clock.monotonic());
        if (!source.partial || source.instances.size > 0) continue;
        sources.delete(source.name);
        readers.delete(source.name);
      }
    },
  };
}
