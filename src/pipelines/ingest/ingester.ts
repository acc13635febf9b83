import type { Clock } from '../../lib/clock.ts';
import type { CardinalityLimit } from '../components/limits.ts';
import { bitOf, type ComponentRegistry } from '../components/registry.ts';
import type { ComponentState, Instance, Replica } from '../components/state.ts';
import type { Meaning, SeriesMapping } from '../engines/profile.ts';
import { allocateEntry, type SeriesStore } from '../series/series-store.ts';
import {
  accumulatorOf,
  addIncrease,
  addValue,
  commitReplica,
  createReplica,
  dropReplica,
} from './accumulator.ts';
import { delta, firstDelta, isLate } from './delta.ts';
import { createInstance, type RestoredSample, type ScrapeSource } from './source.ts';

/** What a series turned out to say. */
export interface SeriesDescription {
  /** The instance its labels name; undefined for the feed's own. */
  readonly instance: string | undefined;
  readonly mappings: readonly SeriesMapping[];
}

/** `refused`: there is no room for one series more. */
type AppendResult = 'taken' | 'refused' | 'malformed';

/** Takes the readings of feeds one after the other: begin, take for each value, end. */
export interface Ingester {
  begin(source: ScrapeSource): void;
  /** Counts the reading for the feed's own instance, which exists though no series may name it. */
  enterOwnInstance(source: ScrapeSource): Instance;
  /** `discover` is asked once for each series; undefined when its text cannot be read. */
  append(
    source: ScrapeSource,
    series: string,
    value: number,
    time: number,
    describe: (series: string) => SeriesDescription | undefined,
  ): AppendResult;
  /** `isWhole`: nothing of the reading was unreadable, so what it lacks is gone. */
  commit(source: ScrapeSource, isWhole: boolean): void;
  /** Takes a value of a series whose first slot is known. */
  appendKnown(source: ScrapeSource, entry: number, value: number, time: number): void;
}

interface Parts {
  readonly clock: Clock;
  readonly registry: ComponentRegistry;
  readonly store: SeriesStore;
}

/** Longer texts of series are not kept: a million of them must have room. */
const LONGEST_SERIES = 16 * 1024;

export function createIngester({ clock, registry, store }: Parts): Ingester {
  let now = 0;
  let monotonic = 0;
  let touchedReplicas: Replica[] = [];

  function markRead(source: ScrapeSource, instance: Instance): void {
    if (instance.lastReading === source.reading) return;
    instance.lastReading = source.reading;
    instance.readings++;
    instance.lastSeenAt = monotonic;
  }

  function instanceOf(source: ScrapeSource, name: string): Instance {
    let instance = source.instances.get(name);
    if (instance === undefined) {
      instance = createInstance(name, source);
      source.instances.set(instance.name, instance);
    }
    markRead(source, instance);
    return instance;
  }

  function touch(replica: Replica): void {
    if (replica.lastReading === replica.instance.source.reading) return;
    replica.lastReading = replica.instance.source.reading;
    replica.state.timestamp = now;
    replica.state.lastSeenAt = monotonic;
    touchedReplicas.push(replica);
  }

  function appendNew(
    source: ScrapeSource,
    series: string,
    value: number,
    time: number,
    found: SeriesDescription,
  ): AppendResult {
    const { limit } = source;
    if (limit.seriesCount >= limit.maxSeries) {
      limit.recordRefusal('series', 'pipeline');
      return 'refused';
    }
    if (store.count >= store.limit) {
      limit.recordRefusal('series', 'everywhere');
      return 'refused';
    }
    const restored = source.restored.get(series);
    let firstEntry = -1;
    let isRefused = false;
    for (const mapping of found.mappings) {
      if (value < 0 && mapping.meaning.reads !== 'gauge') return 'taken';
      const state = componentFor(source, mapping);
      if (state === undefined) {
        isRefused = true;
        continue;
      }
      // Only what is kept makes an instance, so that there are no more of them than of series.
      const instance = instanceOf(source, found.instance ?? source.name);
      const replica = instance.replicas.get(state) ?? createReplica(state, instance);
      const entry = allocateEntry(store, replica, mapping.meaning, firstEntry);
      if (entry === -1) {
        if (replica.entryCount === 0) dropReplica(replica);
        limit.recordRefusal('series', 'everywhere');
        isRefused = true;
        break;
      }
      firstEntry = entry;
      appendFirst(source, entry, replica, mapping.meaning, value, time, restored);
    }
    if (firstEntry === -1 && !isRefused) {
      firstEntry = allocateEntry(store, undefined, undefined, -1);
      instanceOf(source, found.instance ?? source.name);
    }
    if (firstEntry === -1) return 'refused';
    limit.seriesCount++;
    source.series.add(series, firstEntry);
    source.restored.delete(series);
    return 'taken';
  }

  function componentFor(source: ScrapeSource, mapping: SeriesMapping): ComponentState | undefined {
    const { kind, type, engineId } = mapping;
    const state = registry.find(source.pipeline.pipeline, kind, type, engineId);
    if (state !== undefined || type === undefined) return state;
    const { pipeline, limit } = source;
    const full = exceededScope(pipeline.pipeline, limit);
    const added = full === undefined ? registry.add({ ...pipeline, kind, type, engineId }) : undefined;
    if (added === undefined) limit.recordRefusal('components', full ?? 'everywhere');
    return added;
  }

  /** The workspace first: where it is full, a pipeline with a higher bound gets no more either. */
  function exceededScope(pipeline: string, limit: CardinalityLimit): 'pipeline' | 'workspace' | undefined {
    if (limit.componentQuota !== undefined && registry.size >= limit.componentQuota) return 'workspace';
    return registry.countIn(pipeline) >= limit.maxComponents ? 'pipeline' : undefined;
  }

  /** The first value since the process began. */
  function appendFirst(
    source: ScrapeSource,
    entry: number,
    replica: Replica,
    meaning: Meaning,
    value: number,
    time: number,
    restored: RestoredSample | undefined,
  ): void {
    const { instance } = replica;
    touch(replica);
    replica.state.knownMetrics |= bitOf(meaning.metric);
    saveLast(entry, instance, value, time);
    const wasRead = source.partial ? instance.repeated : instance.readings > 1;
    if (meaning.reads === 'gauge') addValue(replica, meaning, value);
    else if (meaning.reads === 'amount') {
      const isCounted = restored !== undefined && isLate(restored.time, time, false);
      addIncrease(replica, meaning, (source.partial || wasRead) && !isCounted ? value : 0, monotonic);
    } else if ((wasRead && !(source.partial && restored !== undefined)) || !(restored || instance.restored)) {
      addIncrease(replica, meaning, firstDelta(value, wasRead), monotonic);
    } else {
      accumulatorOf(replica).isFromSnapshot = true;
      addGrowth(replica, meaning, restored?.value ?? 0, value, source.restarted);
    }
  }

  function appendKnown(source: ScrapeSource, firstEntry: number, value: number, time: number): void {
    for (let entry = firstEntry; entry >= 0; entry = store.next[entry] ?? -1)
      appendNext(source, entry, value, time);
  }

  function appendNext(source: ScrapeSource, entry: number, value: number, time: number): void {
    store.age[entry] = 0;
    const replica = store.replica[entry];
    const meaning = store.meaning[entry];
    if (replica === undefined || meaning === undefined) return;
    const { instance } = replica;
    markRead(source, instance);
    touch(replica);
    const seen = store.seen[entry] ?? 0;
    if (!source.partial && seen === instance.readings) return;
    // It is there, and counts nothing.
    if (!Number.isFinite(value) || (value < 0 && meaning.reads !== 'gauge')) {
      store.seen[entry] = instance.readings;
      return;
    }
    const last = store.last[entry] ?? 0;
    const late = isLate(store.time[entry] ?? Number.NaN, time, isCumulative(meaning) && value > last);
    const present = late ? last : value;
    if (meaning.reads === 'gauge') addValue(replica, meaning, present);
    else if (meaning.reads === 'amount') addIncrease(replica, meaning, late ? 0 : value, monotonic);
    else {
      const vanished = !source.partial && seen < instance.readings - 1;
      const restarted = source.restarted && instance.name === source.name;
      addGrowth(replica, meaning, last, present, !late && (vanished || restarted));
    }
    saveLast(entry, instance, present, late ? Number.NaN : time);
  }

  function addGrowth(
    replica: Replica,
    meaning: Increasing,
    last: number,
    value: number,
    reborn: boolean,
  ): void {
    if (meaning.reads !== 'level' && (reborn || value < last)) accumulatorOf(replica).restarted = true;
    const increase = meaning.reads === 'level' ? value - last : delta(last, value, reborn);
    addIncrease(replica, meaning, increase, monotonic);
  }

  function saveLast(entry: number, instance: Instance, value: number, time: number): void {
    store.last[entry] = value;
    store.seen[entry] = instance.readings;
    if (!Number.isNaN(time)) store.time[entry] = time;
  }

  /** What an instance did not show counts as 0. Series from before the start that none showed are gone. */
  function commitInstances(source: ScrapeSource, isWhole: boolean): void {
    let scrapeFailed = false;
    for (const instance of source.instances.values()) {
      scrapeFailed ||= instance.readings === 0;
      if (instance.lastReading !== source.reading) continue;
      for (const replica of instance.replicas.values()) commitReplica(replica, now, monotonic, false);
    }
    if (!scrapeFailed && isWhole) source.restored.clear();
  }

  /** What could not be read may have been any of what was not seen: none of it has vanished. */
  function carryOverUnseen(source: ScrapeSource): void {
    for (const firstEntry of source.series.firstEntries())
      for (let entry = firstEntry; entry >= 0; entry = store.next[entry] ?? -1) {
        const instance = store.replica[entry]?.instance;
        if (instance?.lastReading === source.reading && store.seen[entry] === instance.readings - 1)
          store.seen[entry] = instance.readings;
      }
  }

  return {
    begin(source) {
      now = clock.now();
      monotonic = clock.monotonic();
      touchedReplicas = [];
      source.reading++;
    },
    appendKnown,
    enterOwnInstance: source => instanceOf(source, source.name),
    append(source, series, value, time, describe) {
      const firstEntry = source.series.get(series);
      if (firstEntry === -1) {
        if (!Number.isFinite(value)) return 'taken';
        if (series.length > LONGEST_SERIES) return 'malformed';
        const found = describe(series);
        return found === undefined ? 'malformed' : appendNew(source, series, value, time, found);
      }
      appendKnown(source, firstEntry, value, time);
      return 'taken';
    },
    commit(source, isWhole) {
      if (!isWhole) carryOverUnseen(source);
      if (source.partial) for (const replica of touchedReplicas) commitReplica(replica, now, monotonic, true);
      else commitInstances(source, isWhole);
      touchedReplicas = [];
      source.unreachable = null;
    },
  };
}

type Increasing = Exclude<Meaning, { reads: 'gauge' }>;

const isCumulative = ({ reads }: Meaning): boolean =>
  reads === 'counter' || reads === 'grew' || reads === 'share';
