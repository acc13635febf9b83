import type { Slots } from './slots.ts';
import { createTexts } from './texts.ts';

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
  add(text: string, slot: number): void;
  /** Of a slot that was added. */
  remove(slot: number): void;
  clear(): void;
  /** First slots, in no order. Removing the present one is allowed meanwhile, adding is not. */
  heads(): Iterable<number>;
  textOf(slot: number): string;
  /** How long the text of a series is when `page` goes on with it at `from`, or -1. */
  lengthAt(slot: number, page: string, from: number): number;
}

const FREE = -1;
/** A removed one: what was put behind it is found by going on. */
const GONE = -2;
const SMALLEST = 16;

/** Labels begin there; a text without any is all name. */
const LABELS = '{';

const cut = (text: string): number => {
  const at = text.indexOf(LABELS);
  return at === -1 ? text.length : at;
};

export function createSeriesTable({ parts }: Pick<Slots, 'parts'>): SeriesTable {
  let names = createTexts();
  let labels = createTexts();
  /** Slots at places their parts say, or at the next free ones (linear probing); never more than half full. */
  let places = new Int32Array(SMALLEST).fill(FREE);
  let size = 0;
  let filled = 0;
  let epoch = 0;

  function placeOf(name: number, label: number): number {
    const mask = places.length - 1;
    let free = -1;
    for (let at = hash(name, label) & mask; ; at = (at + 1) & mask) {
      const slot = places[at] ?? FREE;
      if (slot === FREE) return free === -1 ? at : free;
      if (slot === GONE) free = free === -1 ? at : free;
      else if (parts.name[slot] === name && parts.labels[slot] === label) return at;
    }
  }

  function put(slot: number): void {
    const place = placeOf(parts.name[slot] ?? 0, parts.labels[slot] ?? 0);
    if (places[place] === FREE) filled++;
    places[place] = slot;
  }

  function makeRoom(): void {
    if ((filled + 1) * 2 <= places.length) return;
    const slots = places.filter(slot => slot >= 0);
    places = new Int32Array(Math.max(SMALLEST, 2 ** Math.ceil(Math.log2((size + 1) * 3)))).fill(FREE);
    filled = 0;
    for (const slot of slots) put(slot);
  }

  return {
    get size() {
      return size;
    },
    get epoch() {
      return epoch;
    },
    get(text) {
      const at = cut(text);
      const name = names.find(text.slice(0, at));
      const label = name === -1 ? -1 : labels.find(text.slice(at));
      return label === -1 ? -1 : Math.max(-1, places[placeOf(name, label)] ?? -1);
    },
    add(text, slot) {
      makeRoom();
      const at = cut(text);
      parts.name[slot] = names.take(text.slice(0, at));
      parts.labels[slot] = labels.take(text.slice(at));
      put(slot);
      size++;
    },
    remove(slot) {
      const name = parts.name[slot] ?? 0;
      const label = parts.labels[slot] ?? 0;
      places[placeOf(name, label)] = GONE;
      names.release(name);
      labels.release(label);
      size--;
      epoch++;
    },
    clear() {
      names = createTexts();
      labels = createTexts();
      places = new Int32Array(SMALLEST).fill(FREE);
      size = 0;
      filled = 0;
      epoch++;
    },
    *heads() {
      for (const slot of places) if (slot >= 0) yield slot;
    },
    textOf: slot => names.at(parts.name[slot] ?? 0) + labels.at(parts.labels[slot] ?? 0),
    lengthAt(slot, page, from) {
      const name = names.at(parts.name[slot] ?? 0);
      if (!page.startsWith(name, from)) return -1;
      const label = labels.at(parts.labels[slot] ?? 0);
      return page.startsWith(label, from + name.length) ? name.length + label.length : -1;
    },
  };
}

/** Numbers of texts are small and follow each other: odd factors spread them (Knuth, multiplicative hashing). */
const hash = (name: number, label: number): number => {
  const mixed = Math.imul(name, 0x9e3779b1) ^ Math.imul(label, 0x85ebca6b);
  return (mixed ^ (mixed >>> 15)) >>> 0;
};
