import type { Replica } from '../components/state.ts';
import type { Meaning } from '../engines/profile.ts';

/** One slot for each thing a raw series says, in columns: a million of them must stay small. */
export interface SeriesStore {
  last: Float64Array;
  /** Epoch ms of the last value as the sender stamped it; NaN when it does not. */
  time: Float64Array;
  /** Number of the instance's reading that last showed the series. */
  seen: Uint32Array;
  /** Sweeps since then. */
  age: Uint8Array;
  /** The next slot of the same series, or -1. */
  next: Int32Array;
  /** The numbers of what the text of the series is made of, for its first slot; `series.ts` gives them. */
  readonly symbols: { name: Int32Array; labels: Int32Array };
  /** Undefined for a series the profile has no use for. */
  readonly replica: (Replica | undefined)[];
  readonly meaning: (Meaning | undefined)[];
  /** Slots in use. */
  count: number;
  readonly limit: number;
  readonly free: number[];
}

export function createSeriesStore(limit: number): SeriesStore {
  return {
    last: new Float64Array(0),
    time: new Float64Array(0),
    seen: new Uint32Array(0),
    age: new Uint8Array(0),
    next: new Int32Array(0),
    symbols: { name: new Int32Array(0), labels: new Int32Array(0) },
    replica: [],
    meaning: [],
    count: 0,
    limit,
    free: [],
  };
}

/** A slot of its own, or -1 when there are no more. `next` is the slot of the same series it is chained to, or -1. */
export function allocateEntry(
  store: SeriesStore,
  replica: Replica | undefined,
  meaning: Meaning | undefined,
  next: number,
): number {
  if (store.count === store.limit) return -1;
  const entry = store.free.pop() ?? store.replica.length;
  if (entry >= store.last.length) grow(store);
  store.replica[entry] = replica;
  store.meaning[entry] = meaning;
  store.next[entry] = next;
  store.age[entry] = 0;
  store.seen[entry] = 0;
  store.time[entry] = Number.NaN;
  store.count++;
  if (replica !== undefined) replica.entryCount++;
  return entry;
}

/** Gives back a slot and all that are chained to it. */
export function releaseEntries(store: SeriesStore, firstEntry: number): void {
  for (let entry = firstEntry; entry >= 0; entry = store.next[entry] ?? -1) {
    const replica = store.replica[entry];
    if (replica !== undefined) replica.entryCount--;
    store.replica[entry] = undefined;
    store.meaning[entry] = undefined;
    store.free.push(entry);
    store.count--;
  }
}

function grow(store: SeriesStore): void {
  const size = Math.max(1024, store.last.length * 2);
  store.last = into(new Float64Array(size), store.last);
  store.time = into(new Float64Array(size), store.time);
  store.seen = into(new Uint32Array(size), store.seen);
  store.age = into(new Uint8Array(size), store.age);
  store.next = into(new Int32Array(size), store.next);
  store.symbols.name = into(new Int32Array(size), store.symbols.name);
  store.symbols.labels = into(new Int32Array(size), store.symbols.labels);
}

function into<Column extends { set(values: Column): void }>(larger: Column, smaller: Column): Column {
  larger.set(smaller);
  return larger;
}
