import type { Replica } from '../components/state.ts';
import type { Meaning } from '../engines/profile.ts';
import { createIntervalStore, type IntervalVerdict } from './interval-store.ts';

/**
 * The last value of every series of all pipelines. A series has an entry for each thing it says; its first entry stands
 * for the series, and the others are linked to it.
 */
export interface SeriesStore {
  /** Entries in use, and how many there may be. */
  readonly count: number;
  readonly limit: number;
  /**
   * Adds an entry before `next`, an entry of the same series or -1; gives -1 when the store is full. `replica` and
   * `meaning` are undefined for a series the profile has no use for.
   */
  allocate(replica: Replica | undefined, meaning: Meaning | undefined, next: number): number;
  /** Frees an entry and all that are linked to it. */
  release(firstEntry: number): void;
  /** The next entry of the same series, or -1. */
  nextOf(entry: number): number;
  replicaOf(entry: number): Replica | undefined;
  meaningOf(entry: number): Meaning | undefined;
  valueOf(entry: number): number;
  /** Epoch ms of the last value as the sender stamped it; NaN when it does not. */
  timeOf(entry: number): number;
  /** Number of the instance's reading that last showed the series. */
  readingOf(entry: number): number;
  /** Epoch ms at which its sender says the counter began; NaN when it does not. */
  startOf(entry: number): number;
  setStart(entry: number, start: number): void;
  /** Takes the interval of an increase, in epoch ms, if it is new; `start` is NaN where only its end is known. */
  takeInterval(entry: number, start: number, end: number): IntervalVerdict;
  /** Forgets the intervals of an entry; what ends at `takenUntil` or before it is outdated. */
  forgetIntervals(entry: number, takenUntil: number): void;
  /** Keeps the value a reading showed; without a time (NaN) the one of before stays. */
  save(entry: number, value: number, time: number, reading: number): void;
  /** A reading showed the series, whatever its value. */
  markSeen(entry: number, reading: number): void;
  /** Sweeps since the series was last seen. */
  ageOf(entry: number): number;
  setAge(entry: number, age: number): void;
  /** The symbols that make the text of a series, of its first entry; the series table gives them. */
  nameOf(entry: number): number;
  labelsOf(entry: number): number;
  setSymbols(entry: number, name: number, labels: number): void;
}

export const createSeriesStore = (limit: number): SeriesStore => new ColumnStore(limit);

const SMALLEST = 1024;

/** One typed array a column: a million series must stay small. */
class ColumnStore implements SeriesStore {
  readonly limit: number;
  count = 0;
  readonly #replicas: (Replica | undefined)[] = [];
  readonly #meanings: (Meaning | undefined)[] = [];
  readonly #free: number[] = [];
  #values = new Float64Array(0);
  #times = new Float64Array(0);
  #readings = new Uint32Array(0);
  #ages = new Uint8Array(0);
  #next = new Int32Array(0);
  #names = new Int32Array(0);
  #labels = new Int32Array(0);
  /** Empty until a sender says when a counter began. */
  #starts = new Float64Array(0);
  readonly #intervals = createIntervalStore();
  /** Slots of intervals by entry, of those that have any. */
  readonly #slots = new Map<number, number>();

  constructor(limit: number) {
    this.limit = limit;
  }

  allocate(replica: Replica | undefined, meaning: Meaning | undefined, next: number): number {
    if (this.count === this.limit) return -1;
    const entry = this.#free.pop() ?? this.#replicas.length;
    if (entry >= this.#values.length) this.#grow();
    this.#replicas[entry] = replica;
    this.#meanings[entry] = meaning;
    this.#next[entry] = next;
    this.#ages[entry] = 0;
    this.#readings[entry] = 0;
    this.#times[entry] = Number.NaN;
    if (entry < this.#starts.length) this.#starts[entry] = Number.NaN;
    this.count++;
    if (replica !== undefined) replica.entryCount++;
    return entry;
  }

  release(firstEntry: number): void {
    for (let entry = firstEntry; entry >= 0; entry = this.nextOf(entry)) {
      const replica = this.#replicas[entry];
      if (replica !== undefined) replica.entryCount--;
      this.#replicas[entry] = undefined;
      this.#meanings[entry] = undefined;
      const slot = this.#slots.get(entry);
      if (slot !== undefined) this.#intervals.release(slot);
      this.#slots.delete(entry);
      this.#free.push(entry);
      this.count--;
    }
  }

  nextOf(entry: number): number {
    return this.#next[entry] ?? -1;
  }

  replicaOf(entry: number): Replica | undefined {
    return this.#replicas[entry];
  }

  meaningOf(entry: number): Meaning | undefined {
    return this.#meanings[entry];
  }

  valueOf(entry: number): number {
    return this.#values[entry] ?? 0;
  }

  timeOf(entry: number): number {
    return this.#times[entry] ?? Number.NaN;
  }

  readingOf(entry: number): number {
    return this.#readings[entry] ?? 0;
  }

  save(entry: number, value: number, time: number, reading: number): void {
    this.#values[entry] = value;
    this.#readings[entry] = reading;
    if (!Number.isNaN(time)) this.#times[entry] = time;
  }

  startOf(entry: number): number {
    return this.#starts[entry] ?? Number.NaN;
  }

  setStart(entry: number, start: number): void {
    if (entry >= this.#starts.length) {
      if (Number.isNaN(start)) return;
      this.#starts = copyInto(new Float64Array(this.#values.length).fill(Number.NaN), this.#starts);
    }
    this.#starts[entry] = start;
  }

  takeInterval(entry: number, start: number, end: number): IntervalVerdict {
    let slot = this.#slots.get(entry);
    if (slot === undefined) {
      slot = this.#intervals.allocate(Number.NaN);
      this.#slots.set(entry, slot);
    }
    return this.#intervals.take(slot, start, end);
  }

  forgetIntervals(entry: number, takenUntil: number): void {
    const slot = this.#slots.get(entry);
    if (slot !== undefined) this.#intervals.release(slot);
    this.#slots.set(entry, this.#intervals.allocate(takenUntil));
  }

  markSeen(entry: number, reading: number): void {
    this.#readings[entry] = reading;
  }

  ageOf(entry: number): number {
    return this.#ages[entry] ?? 0;
  }

  setAge(entry: number, age: number): void {
    this.#ages[entry] = age;
  }

  nameOf(entry: number): number {
    return this.#names[entry] ?? 0;
  }

  labelsOf(entry: number): number {
    return this.#labels[entry] ?? 0;
  }

  setSymbols(entry: number, name: number, labels: number): void {
    this.#names[entry] = name;
    this.#labels[entry] = labels;
  }

  #grow(): void {
    const size = Math.max(SMALLEST, this.#values.length * 2);
    this.#values = copyInto(new Float64Array(size), this.#values);
    this.#times = copyInto(new Float64Array(size), this.#times);
    this.#readings = copyInto(new Uint32Array(size), this.#readings);
    this.#ages = copyInto(new Uint8Array(size), this.#ages);
    this.#next = copyInto(new Int32Array(size), this.#next);
    this.#names = copyInto(new Int32Array(size), this.#names);
    this.#labels = copyInto(new Int32Array(size), this.#labels);
  }
}

function copyInto<Column extends { set(values: Column): void }>(larger: Column, smaller: Column): Column {
  larger.set(smaller);
  return larger;
}
