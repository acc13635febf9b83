import type { Clock } from '../../lib/clock.ts';
import type { ComponentRegistry } from '../components/registry.ts';
import type { ComponentState } from '../components/state.ts';
import { restoreWindow, windowParts } from '../components/windows.ts';
import { createInstance, type ScrapeSource } from '../ingest/source.ts';
import { COUNTERS } from '../metric.ts';
import type { SeriesStore } from '../series/series-store.ts';
import type { FeedSnapshot, PipelineRecord, PipelineSnapshot } from './record.ts';

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
): Omit<PipelineSnapshot, 'unreachedMs'> {
  const monotonic = parts.clock.monotonic();
  return {
    ...identity,
    components: [...parts.registry.inPipeline(identity.pipeline)]
      .filter(({ component }) => parts.registry.stateOf(component) !== undefined)
      .map(state => encodeComponent(state, monotonic)),
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
    totals: state.totals.slice(0, COUNTERS.length),
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

/**
 * Copies what changes with the next reading. The texts of series stay in their two parts until they are written: to make
 * a million of them at once takes seconds.
 */
function encodeSource(source: ScrapeSource, store: SeriesStore): FeedSnapshot {
  const { series, restored } = source;
  const most = series.size + restored.size;
  const texts = { names: new Array<string>(most), labels: new Array<string>(most) };
  const [values, times] = [new Float64Array(most), new Float64Array(most)];
  let length = 0;
  const put = (name: string, labels: string, value: number, time: number): void => {
    texts.names[length] = name;
    texts.labels[length] = labels;
    values[length] = value;
    times[length] = time;
    length++;
  };
  for (const entry of series.firstEntries())
    if (isCurrent(source, entry, store))
      put(series.nameOf(entry), series.labelsOf(entry), store.valueOf(entry), store.timeOf(entry));
  for (const [text, { value, time }] of restored) put(text, '', value, time);
  return {
    name: source.name,
    startedAt: source.startedAt,
    readAt: source.readAt,
    instances: [...source.instances.keys()],
    series: {
      length,
      slice: (from, to) =>
        texts.names
          .slice(from, Math.min(to, length))
          .map((name, at) => name + (texts.labels[from + at] ?? '')),
    },
    values: values.subarray(0, length),
    times: times.subarray(0, length),
  };
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

/** Restores last values of a source. Its series are compared with them when they come again. */
export function restoreScrapeSource(
  source: ScrapeSource,
  record: PipelineRecord['feeds'][number],
  monotonic: number,
): void {
  source.startedAt = record.startedAt;
  source.readAt = record.readAt;
  for (const name of record.instances) {
    if (source.instances.has(name)) continue;
    const instance = createInstance(name, source);
    instance.restored = true;
    instance.lastSeenAt = monotonic;
    source.instances.set(name, instance);
  }
  record.series.forEach((series, at) => {
    source.restored.set(series, { value: record.values[at] ?? 0, time: record.times[at] ?? Number.NaN });
  });
}
