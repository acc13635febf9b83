import { copyText } from '../../lib/text.ts';
import type { SeriesStore } from './series-store.ts';

/** The series of one scrape source, by the text that names each. */
export interface SeriesTable {
  readonly size: number;
  /** Grows when entries are released, which may be another series' from then on. */
  readonly epoch: number;
  /** The first entry of a series, or -1. */
  get(text: string): number;
  /** Adds a series that is not there. */
  add(text: string, entry: number): void;
  /** Removes the series of an entry that was added. */
  remove(entry: number): void;
  clear(): void;
  /** First entries as they are now, in the order of the store, which reads them fastest so. */
  firstEntries(): Int32Array;
  /** The two parts of a series' text. */
  nameOf(entry: number): string;
  labelsOf(entry: number): string;
  /** The length of a series' text when `page` continues with it at `from`, or -1. */
  lengthAt(entry: number, page: string, from: number): number;
}

export const createSeriesTable = (store: SeriesStore): SeriesTable => new InternedSeriesTable(store);

const EMPTY = -1;
/** Marks a removed series: one that was inserted after it is found by going on. */
const TOMBSTONE = -2;
const MIN_CAPACITY = 16;

/** Labels begin there; a text without any is all name. */
const LABELS = '{';

const labelsStart = (text: string): number => {
  const at = text.indexOf(LABELS);
  return at === -1 ? text.length : at;
};

/**
 * A hash table of entries. A text is kept as two symbols, the name and the labels it is made of, as the series of a
 * component have most of their labels in common, and a page most of its names.
 */
class InternedSeriesTable implements SeriesTable {
  size = 0;
  epoch = 0;
  readonly #store: SeriesStore;
  #names = createStringInterner();
  #labels = createStringInterner();
  /** Entries at the places their symbols hash to, or at the next free ones (linear probing); never more than half full. */
  #places = new Int32Array(MIN_CAPACITY).fill(EMPTY);
  /** Places that are not empty, tombstones included. */
  #filled = 0;

  constructor(store: SeriesStore) {
    this.#store = store;
  }

  get(text: string): number {
    const at = labelsStart(text);
    const name = this.#names.find(text.slice(0, at));
    const labels = name === -1 ? -1 : this.#labels.find(text.slice(at));
    return labels === -1 ? -1 : Math.max(-1, this.#places[this.#placeOf(name, labels)] ?? -1);
  }

  add(text: string, entry: number): void {
    this.#ensureCapacity();
    const at = labelsStart(text);
    const name = this.#names.acquire(text.slice(0, at));
    this.#store.setSymbols(entry, name, this.#labels.acquire(text.slice(at)));
    this.#insert(entry);
    this.size++;
  }

  remove(entry: number): void {
    const name = this.#store.nameOf(entry);
    const labels = this.#store.labelsOf(entry);
    this.#places[this.#placeOf(name, labels)] = TOMBSTONE;
    this.#names.release(name);
    this.#labels.release(labels);
    this.size--;
    this.epoch++;
  }

  clear(): void {
    this.#names = createStringInterner();
    this.#labels = createStringInterner();
    this.#places = new Int32Array(MIN_CAPACITY).fill(EMPTY);
    this.size = 0;
    this.#filled = 0;
    this.epoch++;
  }

  firstEntries(): Int32Array {
    const entries = new Int32Array(this.size);
    let count = 0;
    for (const entry of this.#places) if (entry >= 0) entries[count++] = entry;
    return entries.sort();
  }

  nameOf(entry: number): string {
    return this.#names.textOf(this.#store.nameOf(entry));
  }

  labelsOf(entry: number): string {
    return this.#labels.textOf(this.#store.labelsOf(entry));
  }

  lengthAt(entry: number, page: string, from: number): number {
    const name = this.nameOf(entry);
    if (!page.startsWith(name, from)) return -1;
    const labels = this.labelsOf(entry);
    const labelsAt = from + name.length;
    const end = labelsAt + labels.length;
    // Of long texts V8 compares words with ===, and characters with startsWith, which takes four times as long.
    return page.slice(labelsAt, end) === labels ? end - from : -1;
  }

  #placeOf(name: number, labels: number): number {
    const places = this.#places;
    const mask = places.length - 1;
    let reusable = -1;
    for (let at = hash(name, labels) & mask; ; at = (at + 1) & mask) {
      const entry = places[at] ?? EMPTY;
      if (entry === EMPTY) return reusable === -1 ? at : reusable;
      if (entry === TOMBSTONE) reusable = reusable === -1 ? at : reusable;
      else if (this.#store.nameOf(entry) === name && this.#store.labelsOf(entry) === labels) return at;
    }
  }

  #insert(entry: number): void {
    const place = this.#placeOf(this.#store.nameOf(entry), this.#store.labelsOf(entry));
    if (this.#places[place] === EMPTY) this.#filled++;
    this.#places[place] = entry;
  }

  #ensureCapacity(): void {
    if ((this.#filled + 1) * 2 <= this.#places.length) return;
    const entries = this.#places.filter(entry => entry >= 0);
    const capacity = Math.max(MIN_CAPACITY, 2 ** Math.ceil(Math.log2((this.size + 1) * 3)));
    this.#places = new Int32Array(capacity).fill(EMPTY);
    this.#filled = 0;
    for (const entry of entries) this.#insert(entry);
  }
}

/** Symbols are small and follow each other: odd factors spread them (Knuth, multiplicative hashing). */
const hash = (name: number, labels: number): number => {
  const mixed = Math.imul(name, 0x9e3779b1) ^ Math.imul(labels, 0x85ebca6b);
  return (mixed ^ (mixed >>> 15)) >>> 0;
};

/** Keeps each text that many have in common once, under a number, its symbol, for as long as it is used. */
interface StringInterner {
  /** The symbol of a text, or -1 when it is not used. */
  find(text: string): number;
  textOf(symbol: number): string;
  /** Counts one use more. */
  acquire(text: string): number;
  /** Counts one use less; after the last one the symbol is given to another text. */
  release(symbol: number): void;
}

function createStringInterner(): StringInterner {
  const symbols = new Map<string, number>();
  const texts: string[] = [];
  const uses: number[] = [];
  const free: number[] = [];

  function add(text: string): number {
    const symbol = free.pop() ?? texts.length;
    const kept = copyText(text);
    texts[symbol] = kept;
    uses[symbol] = 0;
    symbols.set(kept, symbol);
    return symbol;
  }

  return {
    find: text => symbols.get(text) ?? -1,
    textOf: symbol => texts[symbol] ?? '',
    acquire(text) {
      const symbol = symbols.get(text) ?? add(text);
      uses[symbol] = (uses[symbol] ?? 0) + 1;
      return symbol;
    },
    release(symbol) {
      const left = (uses[symbol] ?? 0) - 1;
      uses[symbol] = left;
      if (left > 0) return;
      symbols.delete(texts[symbol] ?? '');
      texts[symbol] = '';
      free.push(symbol);
    },
  };
}
