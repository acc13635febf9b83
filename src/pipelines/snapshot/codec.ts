import type { Clock } from '../../lib/clock.ts';
import type { ComponentRegistry } from '../components/registry.ts';
import type { ComponentState } from '../components/state.ts';
import { restoreWindow, windowParts } from '../components/windows.ts';
import {
  createInstance,
  createScrapeSource,
  type ScrapeSource,
  type ScrapeSourceParts,
} from '../ingest/source.ts';
import type { SeriesStore } from '../series/series-store.ts';
import type { PipelineRecord } from './file.ts';

/**
 * A pipeline as the snapshot keeps it. Parts of it change with the pipeline, so it must be written at once. Silence is
 * kept as its length, so that time while nothing ran is never counted.
 */
export function encodePipeline(
  identity: ScrapeSource['pipeline'],
  parts: {
    readonly registry: ComponentRegistry;
    readonly store: SeriesStore;
    readonly sources: Iterable<ScrapeSource>;
    readonly clock: Clock;
  },
): Omit<PipelineRecord, 'unreachedMs'> {
  const monotonic = parts.clock.monotonic();
  return {
    ...identity,
    components: [...parts.registry.inPipeline(identity.pipeline)].map(state =>
      encodeComponent(state, monotonic),
    ),
    feeds: [...parts.sources].map(source => encodeSource(source, parts.store)),
  };
}

function encodeComponent(state: ComponentState, monotonic: number): PipelineRecord['components'][number] {
  const { kind, type, engineId, id } = state.component;
  return {
    kind,
    type,
    engineId,
    id,
    totals: state.totals,
    known: state.knownMetrics,
    lastDataAt: state.lastDataAt,
    timestamp: state.timestamp,
    silentMs: monotonic - state.silentSince,
    idleMs: monotonic - state.lastSeenAt,
    windows: state.windows.map(({ metric, window }) => ({
      metric,
      ms: window.ms,
      parts: windowParts(window, monotonic),
      watchedMs: monotonic - window.since,
    })),
  };
}

function encodeSource(source: ScrapeSource, store: SeriesStore): PipelineRecord['feeds'][number] {
  const known = [...source.series.firstEntries()].filter(firstEntry => isCurrent(source, firstEntry, store));
  const size = known.length + source.restored.size;
  const record = {
    name: source.name,
    startedAt: source.startedAt,
    readAt: source.readAt,
    instances: [...source.instances.keys()],
    series: new Array<string>(size),
    values: new Float64Array(size),
    times: new Float64Array(size),
  };
  let at = 0;
  const put = (series: string, value: number, time: number): void => {
    record.series[at] = series;
    record.values[at] = value;
    record.times[at] = time;
    at++;
  };
  for (const firstEntry of known)
    put(source.series.textOf(firstEntry), store.valueOf(firstEntry), store.timeOf(firstEntry));
  for (const [series, { value, time }] of source.restored) put(series, value, time);
  return record;
}

/** A series that the last reading lacked would begin again, so its value must not be compared with. */
function isCurrent(source: ScrapeSource, firstEntry: number, store: SeriesStore): boolean {
  const instance = store.replicaOf(firstEntry)?.instance;
  return instance !== undefined && (source.partial || store.readingOf(firstEntry) === instance.readings);
}

/** Restores the components of a record. */
export function restoreComponents(record: PipelineRecord, registry: ComponentRegistry, clock: Clock): void {
  const { pipeline, group, engine } = record;
  const monotonic = clock.monotonic();
  for (const { kind, type, engineId, id, totals, ...rest } of record.components) {
    const state = registry.add({ pipeline, group, engine, kind, type, engineId }, id);
    if (state === undefined) return;
    totals.forEach((total, at) => {
      state.totals[at] = total;
    });
    state.knownMetrics = rest.known;
    state.lastDataAt = rest.lastDataAt;
    state.timestamp = rest.timestamp;
    state.silentSince = monotonic - rest.silentMs;
    state.lastSeenAt = monotonic - rest.idleMs;
    for (const { metric, ms, parts, watchedMs } of rest.windows)
      state.windows.push({
        metric,
        window: restoreWindow(ms, monotonic, parts, watchedMs),
        lastUsedAt: monotonic,
      });
  }
}

/** Restores the last values of a source. Its series are compared with them when they come again. */
export function restoreScrapeSource(
  record: PipelineRecord['feeds'][number],
  parts: ScrapeSourceParts,
  { store, monotonic }: { readonly store: SeriesStore; readonly monotonic: number },
): ScrapeSource {
  const source = createScrapeSource(record.name, parts, store);
  source.startedAt = record.startedAt;
  source.readAt = record.readAt;
  for (const name of record.instances) {
    const instance = createInstance(name, source);
    instance.restored = true;
    instance.lastSeenAt = monotonic;
    source.instances.set(name, instance);
  }
  record.series.forEach((series, at) => {
    source.restored.set(series, { value: record.values[at] ?? 0, time: record.times[at] ?? Number.NaN });
  });
  return source;
}
