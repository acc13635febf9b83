import { copyText } from '../../lib/text.ts';
import type { SeriesStore } from './series-store.ts';

/**
 * The series of a feed, by the text that names each. A text is kept as the name and the labels it is made of, as the
 * series of a component have most of their labels in common, and a page most of its names.
 */
export interface SeriesTable {
  readonly size: number;
  /** Grows when slots are given back, which may be another's from then on. */
  readonly epoch: number;
  /** The first slot of a series, or -1. */
  get(text: string): number;
  /** Adds a series that is not there. */
  add(text: string, entry: number): void;
  /** Of a slot that was added. */
  remove(entry: number): void;
  clear(): void;
  /** First slots, in no order. Removing the present one is allowed meanwhile, adding is not. */
  firstEntries(): Iterable<number>;
  textOf(entry: number): string;
  /** How long the text of a series is when `page` goes on with it at `from`, or -1. */
  lengthAt(entry: number, page: string, from: number): number;
}

const EMPTY = -1;
/** A removed one: what was put behind it is found by going on. */
const TOMBSTONE = -2;
const MIN_CAPACITY = 16;

/** Labels begin there; a text without any is all name. */
const LABELS = '{';

const labelsStart = (text: string): number => {
  const at = text.indexOf(LABELS);
  return at === -1 ? text.length : at;
};

export function createSeriesTable({ symbols }: Pick<SeriesStore, 'symbols'>): SeriesTable {
  let names = createStringInterner();
  let labels = createStringInterner();
  /** Slots at places their parts say, or at the next free ones (linear probing); never more than half full. */
  let places = new Int32Array(MIN_CAPACITY).fill(EMPTY);
  let size = 0;
  let filled = 0;
  let epoch = 0;

  function placeOf(name: number, label: number): number {
    const mask = places.length - 1;
    let free = -1;
    for (let at = hash(name, label) & mask; ; at = (at + 1) & mask) {
      const entry = places[at] ?? EMPTY;
      if (entry === EMPTY) return free === -1 ? at : free;
      if (entry === TOMBSTONE) free = free === -1 ? at : free;
      else if (symbols.name[entry] === name && symbols.labels[entry] === label) return at;
    }
  }

  function insert(entry: number): void {
    const place = placeOf(symbols.name[entry] ?? 0, symbols.labels[entry] ?? 0);
    if (places[place] === EMPTY) filled++;
    places[place] = entry;
  }

  function ensureCapacity(): void {
    if ((filled + 1) * 2 <= places.length) return;
    const entries = places.filter(entry => entry >= 0);
    places = new Int32Array(Math.max(MIN_CAPACITY, 2 ** Math.ceil(Math.log2((size + 1) * 3)))).fill(EMPTY);
    filled = 0;
    for (const entry of entries) insert(entry);
  }

  return {
    get size() {
      return size;
    },
    get epoch() {
      return epoch;
    },
    get(text) {
      const at = labelsStart(text);
      const name = names.find(text.slice(0, at));
      const label = name === -1 ? -1 : labels.find(text.slice(at));
      return label === -1 ? -1 : Math.max(-1, places[placeOf(name, label)] ?? -1);
    },
    add(text, entry) {
      ensureCapacity();
      const at = labelsStart(text);
      symbols.name[entry] = names.acquire(text.slice(0, at));
      symbols.labels[entry] = labels.acquire(text.slice(at));
      insert(entry);
      size++;
    },
    remove(entry) {
      const name = symbols.name[entry] ?? 0;
      const label = symbols.labels[entry] ?? 0;
      places[placeOf(name, label)] = TOMBSTONE;
      names.release(name);
      labels.release(label);
      size--;
      epoch++;
    },
    clear() {
      names = createStringInterner();
      labels = createStringInterner();
      places = new Int32Array(MIN_CAPACITY).fill(EMPTY);
      size = 0;
      filled = 0;
      epoch++;
    },
    *firstEntries() {
      for (const entry of places) if (entry >= 0) yield entry;
    },
    textOf: entry => names.textOf(symbols.name[entry] ?? 0) + labels.textOf(symbols.labels[entry] ?? 0),
    lengthAt(entry, page, from) {
      const name = names.textOf(symbols.name[entry] ?? 0);
      if (!page.startsWith(name, from)) return -1;
      const label = labels.textOf(symbols.labels[entry] ?? 0);
      return page.startsWith(label, from + name.length) ? name.length + label.length : -1;
    },
  };
}

/** Numbers of texts are small and follow each other: odd factors spread them (Knuth, multiplicative hashing). */
const hash = (name: number, label: number): number => {
  const mixed = Math.imul(name, 0x9e3779b1) ^ Math.imul(label, 0x85ebca6b);
  return (mixed ^ (mixed >>> 15)) >>> 0;
};

/** Texts that many have in common, each kept once and by a number for as long as anybody uses it. */
interface StringInterner {
  /** Its number, or -1 when nobody uses it. */
  find(text: string): number;
  textOf(number: number): string;
  /** One user more. */
  acquire(text: string): number;
  /** One user less; of the last one the number is given away again. */
  release(number: number): void;
}

function createStringInterner(): StringInterner {
  const numbers = new Map<string, number>();
  const strings: string[] = [];
  const uses: number[] = [];
  const free: number[] = [];

  function add(text: string): number {
    const number = free.pop() ?? strings.length;
    const kept = copyText(text);
    strings[number] = kept;
    uses[number] = 0;
    numbers.set(kept, number);
    return number;
  }

  return {
    find: text => numbers.get(text) ?? -1,
    textOf: number => strings[number] ?? '',
    acquire(text) {
      const number = numbers.get(text) ?? add(text);
      uses[number] = (uses[number] ?? 0) + 1;
      return number;
    },
    release(number) {
      const left = (uses[number] ?? 0) - 1;
      uses[number] = left;
      if (left > 0) return;
      numbers.delete(strings[number] ?? '');
      strings[number] = '';
      free.push(number);
    },
  };
}
