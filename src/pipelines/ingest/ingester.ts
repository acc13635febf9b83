import type { ObservedClock } from '../../lib/observed-clock.ts';
import { type Slices, SliceTimer } from '../../lib/slices.ts';
import type { CardinalityLimit } from '../components/limits.ts';
import { bitOf, type ComponentRegistry } from '../components/registry.ts';
import { createReplica, dropReplica } from '../components/replica.ts';
import type { ComponentState, Instance, Replica } from '../components/state.ts';
import { isIdle, type Meaning, type SeriesMapping } from '../engines/profile.ts';
import type { SeriesStore } from '../series/series-store.ts';
import { accumulatorOf, addIfAnew, addIncrease, addValue, commitReplica } from './accumulator.ts';
import { alternates, nextAlternation } from './alternation.ts';
import {
  type CounterChange,
  changeInPush,
  changeOnPage,
  firstIncrease,
  goesOn,
  increaseOf,
  isOfEarlierProcess,
  isRestart,
  isUnknownStart,
  nextSenderClock,
  type StampedValue,
} from './counter.ts';
import { createInstance, markRead, type RestoredSample, type ScrapeSource } from './source.ts';

/** How the profile reads a series. */
export interface SeriesDescription {
  /** The instance its labels name; undefined for the source's own. */
  readonly instance: string | undefined;
  readonly mappings: readonly SeriesMapping[];
}

/** A value of a series, named by its text. */
interface NamedValue extends StampedValue {
  readonly series: string;
}

/** `refused`: a limit was reached. An increase that overlaps one that was taken, or is outdated, counts nothing. */
type AppendResult = 'taken' | 'refused' | 'malformed' | RejectedIncrease;

export type RejectedIncrease = 'overlapping' | 'outdated';

/**
 * Takes the readings of scrape sources: begin, append each value, commit. Readings of several sources may be under way at a
 * time, of each source one.
 */
export interface Ingester {
  begin(source: ScrapeSource): void;
  /** Counts the reading for the source's own instance, which exists though no series may name it. */
  enterOwnInstance(source: ScrapeSource): Instance;
  /** `describe` is called once for each series; it gives undefined when the text of the series cannot be read. */
  append(
    source: ScrapeSource,
    named: NamedValue,
    describe: (series: string) => SeriesDescription | undefined,
  ): AppendResult;
  /** Appends a value of a page, of a series whose first entry is known. */
  appendKnown(source: ScrapeSource, firstEntry: number, value: number, time: number): void;
  /**
   * Ends a reading: from here on all of it is there for whoever reads the state of a component. The work is what is left to
   * do, and is done before the next reading of the source begins. `isWhole`: nothing of the reading was unreadable, so series
   * that it lacks are gone.
   */
  commit(source: ScrapeSource, isWhole: boolean): Slices;
}

interface Options {
  readonly clock: Pick<ObservedClock, 'now' | 'monotonic' | 'unobservedMs'>;
  readonly registry: ComponentRegistry;
  readonly store: SeriesStore;
}

/** Longer texts of series are not kept: a million of them must fit in memory. */
const LONGEST_SERIES = 16 * 1024;

export const createIngester = (options: Options): Ingester => new DeltaIngester(options);

class DeltaIngester implements Ingester {
  readonly #clock: Options['clock'];
  readonly #registry: ComponentRegistry;
  readonly #store: SeriesStore;
  /** For each source whose last reading is not committed to everything yet, what does so. */
  readonly #finishes = new Map<ScrapeSource, () => void>();

  constructor({ clock, registry, store }: Options) {
    this.#clock = clock;
    this.#registry = registry;
    this.#store = store;
  }

  begin(source: ScrapeSource): void {
    this.#finishes.get(source)?.();
    source.begunAt = this.#clock.now();
    source.begunMonotonic = this.#clock.monotonic();
    const unobservedMs = this.#clock.unobservedMs();
    if (unobservedMs > source.unobservedMs) source.ownGapEndedAt = source.begunMonotonic;
    source.unobservedMs = unobservedMs;
    source.touched = [];
    if (source.reading === 0) source.knownAt = source.begunMonotonic;
    source.reading++;
  }

  enterOwnInstance(source: ScrapeSource): Instance {
    return this.#instanceOf(source, source.name);
  }

  append(
    source: ScrapeSource,
    named: NamedValue,
    describe: (series: string) => SeriesDescription | undefined,
  ): AppendResult {
    const { series, value } = named;
    const firstEntry = source.series.get(series);
    if (firstEntry !== -1) {
      if (source.partial) return this.#appendPushed(source, firstEntry, named);
      this.appendKnown(source, firstEntry, value, named.time);
      return 'taken';
    }
    if (!Number.isFinite(value)) return 'taken';
    if (series.length > LONGEST_SERIES) return 'malformed';
    const description = describe(series);
    if (description === undefined) return 'malformed';
    return this.#appendNew(source, named, description);
  }

  appendKnown(source: ScrapeSource, firstEntry: number, value: number, time: number): void {
    for (let entry = firstEntry; entry >= 0; entry = this.#store.nextOf(entry))
      this.#readOnPage(source, entry, value, time);
  }

  commit(source: ScrapeSource, isWhole: boolean): Slices {
    // A page that shows nothing of its process says nothing about it.
    const isUnseenKept = !isWhole || (!source.partial && source.touched.length === 0);
    const { begunAt, begunMonotonic, reading, partial } = source;
    source.settle = replica => {
      const { instance, lastReading, committedReading } = replica;
      if (committedReading === reading || (partial ? lastReading : instance.lastReading) !== reading) return;
      replica.committedReading = reading;
      commitReplica(replica, begunAt, begunMonotonic, partial);
    };
    if (source.touched.length > 0) {
      source.readAt = begunAt;
      source.readMonotonic = begunMonotonic;
    }
    markRead(source, isWhole);
    this.#registry.unsettled.add(source);
    const steps = this.#commitSteps(source, isWhole, isUnseenKept);
    const finish = (): void => {
      while (steps.next().done !== true);
    };
    this.#finishes.set(source, finish);
    return this.#commitInSlices(steps, finish);
  }

  /** What is ended early is done at once: readers have seen a part of it. */
  *#commitInSlices(steps: Iterator<void>, finish: () => void): Slices {
    const timer = new SliceTimer(this.#clock);
    try {
      while (steps.next().done !== true) if (timer.isPauseDue()) yield* timer.pause();
    } finally {
      finish();
    }
  }

  *#commitSteps(source: ScrapeSource, isWhole: boolean, isUnseenKept: boolean): Generator<void> {
    if (isUnseenKept) yield* this.#carryOverUnseen(source);
    if (source.partial)
      for (const replica of source.touched) {
        source.settle?.(replica);
        yield;
      }
    else yield* this.#commitInstances(source, isWhole);
    source.touched = [];
    source.settle = undefined;
    this.#registry.unsettled.delete(source);
    this.#finishes.delete(source);
  }

  #enter(source: ScrapeSource, instance: Instance): void {
    if (instance.lastReading === source.reading) return;
    instance.lastReading = source.reading;
    instance.readings++;
    instance.lastSeenAt = source.begunMonotonic;
    instance.fell = false;
    instance.wentOn = false;
  }

  #instanceOf(source: ScrapeSource, name: string): Instance {
    let instance = source.instances.get(name);
    if (instance === undefined) {
      instance = createInstance(name, source);
      source.instances.set(instance.name, instance);
    }
    this.#enter(source, instance);
    return instance;
  }

  #touch(replica: Replica): void {
    const { source } = replica.instance;
    if (replica.lastReading === source.reading) return;
    replica.lastReading = source.reading;
    replica.state.timestamp = source.begunAt;
    replica.state.lastSeenAt = source.begunMonotonic;
    source.touched.push(replica);
  }

  #appendNew(
    source: ScrapeSource,
    named: NamedValue,
    { instance: instanceName, mappings }: SeriesDescription,
  ): AppendResult {
    const { limit } = source;
    const { series, value } = named;
    const exceeded = this.#exceededSeriesScope(limit);
    if (exceeded !== undefined) {
      limit.recordRefusal('series', exceeded);
      return 'refused';
    }
    const restored = source.restored.get(series);
    let firstEntry = -1;
    let isRefused = false;
    let result: AppendResult = 'taken';
    for (const mapping of mappings) {
      const { meaning } = mapping;
      if ((value < 0 && meaning.reads !== 'gauge') || isIdle(meaning, value)) return 'taken';
      const state = this.#componentOf(source, mapping);
      if (state === undefined) {
        isRefused = true;
        continue;
      }
      // Only what is kept makes an instance, so that there are no more of them than of series.
      const instance = this.#instanceOf(source, instanceName ?? source.name);
      const replica = instance.replicas.get(state) ?? createReplica(state, instance);
      const entry = this.#store.allocate(replica, meaning, firstEntry);
      if (entry === -1) {
        if (replica.entryCount === 0) dropReplica(replica);
        limit.recordRefusal('series', 'everywhere');
        isRefused = true;
        break;
      }
      firstEntry = entry;
      result = worseOf(result, this.#appendFirst(source, entry, { replica, meaning, named, restored }));
    }
    if (firstEntry === -1 && !isRefused) {
      firstEntry = this.#store.allocate(undefined, undefined, -1);
      this.#instanceOf(source, instanceName ?? source.name);
    }
    if (firstEntry === -1) return 'refused';
    limit.seriesCount++;
    source.series.add(series, firstEntry);
    source.restored.delete(series);
    return result;
  }

  #exceededSeriesScope({ seriesCount, quotas, maxSeries }: CardinalityLimit) {
    if (quotas !== undefined && this.#store.count >= quotas.series) return 'workspace';
    if (seriesCount >= maxSeries) return 'pipeline';
    return this.#store.count >= this.#store.limit ? 'everywhere' : undefined;
  }

  /** The component a series belongs to, which is added when it is new; undefined when a limit was reached. */
  #componentOf(
    { pipeline, limit }: ScrapeSource,
    { kind, type, engineId }: Omit<SeriesMapping, 'meaning'>,
  ): ComponentState | undefined {
    const state = this.#registry.find(pipeline.pipeline, kind, type, engineId);
    if (state !== undefined || type === undefined) return state;
    const exceeded = this.#exceededComponentScope(pipeline.pipeline, limit);
    const added =
      exceeded === undefined ? this.#registry.add({ ...pipeline, kind, type, engineId }) : undefined;
    if (added === undefined) limit.recordRefusal('components', exceeded ?? 'everywhere');
    return added;
  }

  /** The workspace first: where it is full, a pipeline with a higher bound gets no more either. */
  #exceededComponentScope(
    pipeline: string,
    { quotas, maxComponents }: CardinalityLimit,
  ): 'pipeline' | 'workspace' | undefined {
    if (quotas !== undefined && this.#registry.size >= quotas.components) return 'workspace';
    return this.#registry.countIn(pipeline) >= maxComponents ? 'pipeline' : undefined;
  }

  /** Appends the first value since the process began. */
  #appendFirst(
    source: ScrapeSource,
    entry: number,
    { replica, meaning, named, restored }: FirstValue,
  ): AppendResult {
    const { instance } = replica;
    const { value, time } = named;
    this.#touch(replica);
    replica.state.knownMetrics |= bitOf(meaning.metric);
    this.#store.save(entry, value, time, instance.readings);
    if (source.partial) this.#store.setStart(entry, startOf(named));
    const wasRead = source.partial ? instance.repeated : instance.readings > 1;
    if (meaning.reads === 'gauge') addValue(replica, meaning, value);
    else if (meaning.reads === 'delta') {
      if (source.partial) {
        if (restored !== undefined) this.#store.forgetIntervals(entry, restored.time);
        return this.#addPushedIncrease(source, entry, replica, meaning, named);
      }
      const isCounted = restored !== undefined && time <= restored.time;
      addIncrease(replica, meaning, wasRead && !isCounted ? value : 0, source.begunMonotonic);
    } else if (restored === undefined && (wasRead || !instance.restored)) {
      const increase = firstIncrease(value, wasRead, isUnknownStart(named));
      addIncrease(replica, meaning, increase, source.begunMonotonic);
    } else this.#compareWithSnapshot(source, entry, { replica, meaning, named, restored });
    return 'taken';
  }

  /** An increase counts whenever it comes, unless its time was counted. */
  #addPushedIncrease(
    source: ScrapeSource,
    entry: number,
    replica: Replica,
    meaning: Increasing,
    { value, time, start }: StampedValue,
  ): AppendResult {
    const store = this.#store;
    const { instance } = replica;
    let verdict = Number.isNaN(time) ? 'new' : store.takeInterval(entry, start, time);
    if (verdict === 'outdated') {
      const push = { time, monotonic: source.begunMonotonic, reading: instance.readings };
      instance.senderClock = nextSenderClock(instance.senderClock, push);
      if (instance.senderClock.isConfirmed) {
        store.forgetIntervals(entry, Number.NaN);
        verdict = store.takeInterval(entry, start, time);
      }
    }
    addIncrease(replica, meaning, verdict === 'new' ? value : 0, source.begunMonotonic);
    const isLatest = !(time <= store.timeOf(entry));
    store.save(
      entry,
      isLatest ? value : store.valueOf(entry),
      isLatest ? time : Number.NaN,
      instance.readings,
    );
    if (verdict === 'new' || verdict === 'repeated') return 'taken';
    instance.source.noted('increase rejected', instance.name);
    return verdict;
  }

  #compareWithSnapshot(
    source: ScrapeSource,
    entry: number,
    { replica, meaning, named, restored }: FirstValue & { readonly meaning: Increasing },
  ): void {
    accumulatorOf(replica).isFromSnapshot = true;
    const last = { value: restored?.value ?? 0, time: restored?.time ?? Number.NaN, start: Number.NaN };
    if (restored === undefined && isUnknownStart(named)) return;
    const change = source.partial
      ? changeInPush(last, named, false)
      : changeOnPage(last.value, named.value, false);
    this.#addGrowth(replica, meaning, last.value, named.value, change);
    if (change === 'nothing new') this.#store.save(entry, last.value, last.time, replica.instance.readings);
  }

  /**
   * The replica whose value may be compared. Undefined for a series of no use; a page's second of two equal series, and
   * what is no count, are there and count nothing.
   */
  #comparable(
    source: ScrapeSource,
    entry: number,
    meaning: Meaning | undefined,
    value: number,
  ): Replica | undefined {
    const store = this.#store;
    store.setAge(entry, 0);
    const replica = store.replicaOf(entry);
    if (replica === undefined || meaning === undefined) return undefined;
    const { instance } = replica;
    this.#enter(source, instance);
    this.#touch(replica);
    if (!source.partial && store.readingOf(entry) === instance.readings) return undefined;
    if (Number.isFinite(value) && (value >= 0 || meaning.reads === 'gauge')) return replica;
    store.markSeen(entry, instance.readings);
    return undefined;
  }

  #readOnPage(source: ScrapeSource, entry: number, value: number, time: number): void {
    const store = this.#store;
    const meaning = store.meaningOf(entry);
    const replica = this.#comparable(source, entry, meaning, value);
    if (replica === undefined || meaning === undefined) return;
    const { instance } = replica;
    if (meaning.reads === 'gauge') addValue(replica, meaning, value);
    else if (meaning.reads === 'delta')
      addIncrease(replica, meaning, store.timeOf(entry) === time ? 0 : value, source.begunMonotonic);
    else {
      const last = store.valueOf(entry);
      const change =
        source.restart === 'proven' && isOwnInstance(instance)
          ? 'began anew'
          : changeOnPage(last, value, store.readingOf(entry) < instance.readings - 1);
      if (value < last || instance.alternation?.entry === entry) this.#follow(instance, entry, last, value);
      this.#addGrowth(replica, meaning, last, value, change);
    }
    store.save(entry, value, time, instance.readings);
  }

  #appendPushed(source: ScrapeSource, firstEntry: number, pushed: StampedValue): AppendResult {
    let result: AppendResult = 'taken';
    for (let entry = firstEntry; entry >= 0; entry = this.#store.nextOf(entry))
      result = worseOf(result, this.#readInPush(source, entry, pushed));
    return result;
  }

  #readInPush(source: ScrapeSource, entry: number, pushed: StampedValue): AppendResult {
    const store = this.#store;
    const meaning = store.meaningOf(entry);
    const replica = this.#comparable(source, entry, meaning, pushed.value);
    if (replica === undefined || meaning === undefined) return 'taken';
    if (meaning.reads === 'delta') return this.#addPushedIncrease(source, entry, replica, meaning, pushed);
    const { instance } = replica;
    const { value, time } = pushed;
    const last = { value: store.valueOf(entry), time: store.timeOf(entry), start: store.startOf(entry) };
    let isNew = !(time <= last.time);
    if (meaning.reads === 'gauge') addValue(replica, meaning, isNew ? value : last.value);
    else if (meaning.reads === 'level')
      addIncrease(replica, meaning, isNew ? value - last.value : 0, source.begunMonotonic);
    else {
      const change = this.#changeInPush(instance, last, pushed);
      if (isNew && (value < last.value || instance.alternation?.entry === entry))
        this.#follow(instance, entry, last.value, value);
      this.#addGrowth(replica, meaning, last.value, value, change);
      isNew ||= change === 'began anew' || (change === 'went on' && value > last.value);
    }
    store.save(entry, isNew ? value : last.value, isNew ? time : Number.NaN, instance.readings);
    if (isNew) store.setStart(entry, startOf(pushed));
    return 'taken';
  }

  #changeInPush(instance: Instance, last: StampedValue, pushed: StampedValue): CounterChange {
    const { value, time } = pushed;
    const isOlder = time < last.time;
    if (isOlder && (value < last.value || isOfEarlierProcess(last, pushed)))
      instance.senderClock = nextSenderClock(instance.senderClock, {
        time,
        monotonic: instance.source.begunMonotonic,
        reading: instance.readings,
      });
    return changeInPush(last, pushed, isOlder && instance.senderClock?.isConfirmed === true);
  }

  /** A time that claims a restart tells one from several processes that answer. */
  #follow(instance: Instance, entry: number, last: number, value: number): void {
    if (instance.source.restart === 'claimed' && isOwnInstance(instance)) instance.alternation = undefined;
    else {
      instance.alternation = nextAlternation(instance.alternation, {
        entry,
        last,
        value,
        reading: instance.readings,
        startReturned: isOwnInstance(instance) && instance.source.starts?.returned === true,
      });
      if (alternates(instance.alternation, instance.readings))
        instance.source.noted('several processes', instance.name);
    }
  }

  #addGrowth(
    replica: Replica,
    meaning: Increasing,
    last: number,
    value: number,
    change: CounterChange,
  ): void {
    const { instance } = replica;
    const { source } = instance;
    if (meaning.reads === 'level') {
      addIncrease(replica, meaning, value - last, source.begunMonotonic);
      return;
    }
    if (change === 'began anew') {
      accumulatorOf(replica).restarted = true;
      instance.fell ||= value < last;
    } else if (source.restart === 'claimed' && isOwnInstance(instance)) {
      addIfAnew(replica, meaning, last);
      instance.wentOn ||= goesOn(last, value);
    }
    addIncrease(replica, meaning, increaseOf(change, last, value), source.begunMonotonic);
  }

  /** Counts series that an instance did not show as 0. Series from before the start that no instance showed are gone. */
  *#commitInstances(source: ScrapeSource, isWhole: boolean): Generator<void> {
    let isUnread = source.touched.length === 0;
    for (const instance of source.instances.values()) {
      yield;
      isUnread ||= instance.readings === 0;
      if (instance.lastReading !== source.reading) continue;
      for (const replica of instance.replicas.values()) {
        source.settle?.(replica);
        yield;
      }
      if (source.restart === 'claimed' && isOwnInstance(instance) && !isRestart(instance))
        source.noted('start without restart', instance.name);
    }
    if (!isUnread && isWhole) source.restored.clear();
  }

  /** Lines that could not be read may have been any series that was not seen: none of these has vanished. */
  *#carryOverUnseen(source: ScrapeSource): Generator<void> {
    const store = this.#store;
    for (const firstEntry of source.series.firstEntries()) {
      yield;
      for (let entry = firstEntry; entry >= 0; entry = store.nextOf(entry)) {
        const instance = store.replicaOf(entry)?.instance;
        // Entries may be released meanwhile, and belong to another source from then on.
        if (instance?.source !== source) continue;
        if (instance.lastReading === source.reading && store.readingOf(entry) === instance.readings - 1)
          store.markSeen(entry, instance.readings);
      }
    }
  }
}

interface FirstValue {
  readonly replica: Replica;
  readonly meaning: Meaning;
  readonly named: NamedValue;
  /** The value in the snapshot, if it has the series. */
  readonly restored: RestoredSample | undefined;
}

type Increasing = Exclude<Meaning, { reads: 'gauge' }>;

/** The instance that the times of a page are of. */
const isOwnInstance = ({ name, source }: Instance): boolean => name === source.name;

const worseOf = (one: AppendResult, other: AppendResult): AppendResult => (one === 'taken' ? other : one);

/** A start that is unknown is none. */
const startOf = (stamped: StampedValue): number => (isUnknownStart(stamped) ? Number.NaN : stamped.start);
