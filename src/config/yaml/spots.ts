import { EVENT_ID, type Event, getScalarValue, type ScalarEvent } from 'js-yaml';
import { offsetOf, type StructureFinding } from './structure.ts';

/** In the place of a spot or an offset that there is not. */
export const NONE = -1;

/** Duplicate keys that are kept: more than anybody is shown. */
const MOST_DUPLICATES = 1000;

/** Where a value stands. */
interface Spot {
  /** Where it begins; -1 for an empty one. */
  readonly offset: number;
  /** Where its key begins, or its dash for an empty list item; -1 without. */
  readonly keyOffset: number;
  readonly isCollection: boolean;
}

const [PLAIN, LIST, MAP] = [0, 1, 2];

interface Frame {
  readonly spot: number;
  readonly isMap: boolean;
  key: ScalarEvent | undefined;
  count: number;
  last: number;
}

/** The tree of the events of a text that `inspectStructure` found in order. */
export const drawTree = (text: string, events: readonly Event[]): SpotTree => new SpotTree(text, events);

/**
 * The spots of a text by number, in numbers alone, as a text may have hundreds of thousands: 28 bytes each. Their names are
 * read from the text again for the few that are asked for.
 */
export class SpotTree {
  /** The spot of the whole document. */
  top = 0;
  readonly #text: string;
  readonly #offsets: Int32Array;
  readonly #keyOffsets: Int32Array;
  /** The range of the text that is the name, where it is written as it reads. */
  readonly #nameStarts: Int32Array;
  readonly #nameEnds: Int32Array;
  /** Names that are written otherwise. */
  readonly #names = new Map<number, string>();
  readonly #kinds: Uint8Array;
  readonly #firstChildren: Int32Array;
  readonly #nextSiblings: Int32Array;
  /** What was asked for: the children of lists in their order, those of maps by name. */
  readonly #lists = new Map<number, Int32Array>();
  readonly #maps = new Map<number, ReadonlyMap<string, number>>();
  readonly #anchors = new Map<string, number>();
  #count = 1;

  constructor(text: string, events: readonly Event[]) {
    const numbers = (): Int32Array => new Int32Array(events.length + 1).fill(NONE);
    this.#text = text;
    this.#offsets = numbers();
    this.#keyOffsets = numbers();
    this.#nameStarts = numbers();
    this.#nameEnds = numbers();
    this.#firstChildren = numbers();
    this.#nextSiblings = numbers();
    this.#kinds = new Uint8Array(events.length + 1);
    this.#offsets[0] = 0;
    this.#kinds[0] = LIST;
    this.#draw(events);
    this.#anchors.clear();
  }

  spotAt(spot: number): Spot {
    return {
      offset: this.#offsets[spot] ?? NONE,
      keyOffset: this.#keyOffsets[spot] ?? NONE,
      isCollection: this.#kinds[spot] !== PLAIN,
    };
  }

  /** The spot below another one by its key or index; -1 where there is none. Of several with one key the last. */
  childOf(spot: number, name: string): number {
    if (this.#kinds[spot] === MAP) return this.#mapOf(spot).get(name) ?? NONE;
    if (this.#kinds[spot] !== LIST || !/^\d+$/.test(name)) return NONE;
    return this.#listOf(spot)[Number(name)] ?? NONE;
  }

  /** The first thousand keys that stand a second time in their map, in the order of the text. */
  duplicates(): readonly StructureFinding[] {
    const found: StructureFinding[] = [];
    for (let spot = 0; spot < this.#count; spot++)
      // What an alias stands for was looked at where it is written.
      if (this.#kinds[spot] === MAP && (this.#firstChildren[spot] ?? NONE) > spot)
        this.#findDuplicates(spot, found);
    return found.sort((one, other) => one.offset - other.offset).slice(0, MOST_DUPLICATES);
  }

  #findDuplicates(map: number, found: StructureFinding[]): void {
    const seen = new Set<string>();
    for (const child of this.#childrenOf(map)) {
      const name = this.#nameOf(child);
      if (seen.has(name) && found.length < MOST_DUPLICATES)
        found.push({
          offset: this.#keyOffsets[child] ?? NONE,
          message: `the key '${name}' stands twice in this map; remove one`,
        });
      seen.add(name);
    }
  }

  *#childrenOf(spot: number): Iterable<number> {
    for (
      let child = this.#firstChildren[spot] ?? NONE;
      child !== NONE;
      child = this.#nextSiblings[child] ?? NONE
    )
      yield child;
  }

  #listOf(spot: number): Int32Array {
    const list = this.#lists.get(spot) ?? Int32Array.from(this.#childrenOf(spot));
    this.#lists.set(spot, list);
    return list;
  }

  #mapOf(spot: number): ReadonlyMap<string, number> {
    let map = this.#maps.get(spot);
    if (map === undefined) {
      const named = new Map<string, number>();
      for (const child of this.#childrenOf(spot)) named.set(this.#nameOf(child), child);
      map = named;
      this.#maps.set(spot, map);
    }
    return map;
  }

  #nameOf(spot: number): string {
    return this.#names.get(spot) ?? this.#text.slice(this.#nameStarts[spot], this.#nameEnds[spot]);
  }

  #draw(events: readonly Event[]): void {
    const frames: Frame[] = [{ spot: 0, isMap: false, key: undefined, count: 0, last: NONE }];
    let lastEnd = 0;
    for (const event of events) {
      const frame = frames.at(-1);
      if (frame === undefined || event.type === EVENT_ID.DOCUMENT) continue;
      if (event.type === EVENT_ID.POP) {
        frames.pop();
        continue;
      }
      if (event.type === EVENT_ID.SCALAR && frame.isMap && frame.key === undefined) frame.key = event;
      else {
        const spot = this.#place(frame, event, lastEnd);
        if (event.type === EVENT_ID.SEQUENCE || event.type === EVENT_ID.MAPPING)
          frames.push({ spot, isMap: event.type === EVENT_ID.MAPPING, key: undefined, count: 0, last: NONE });
      }
      lastEnd = Math.max(lastEnd, endOf(event));
    }
  }

  /** Hangs a value under its key or index. */
  #place(
    frame: Frame,
    event: Exclude<Event, { type: typeof EVENT_ID.DOCUMENT | typeof EVENT_ID.POP }>,
    lastEnd: number,
  ): number {
    const spot = this.#count++;
    const offset = offsetOf(event);
    this.#offsets[spot] = offset;
    if (frame.isMap) this.#name(spot, frame.key);
    else if (offset < 0) this.#keyOffsets[spot] = this.#dashOffset(frame, lastEnd);
    if (frame.last === NONE) this.#firstChildren[frame.spot] = spot;
    else this.#nextSiblings[frame.last] = spot;
    if (frame.spot === 0) this.top = spot;
    frame.last = spot;
    frame.count++;
    frame.key = undefined;
    if (event.type === EVENT_ID.ALIAS) {
      const target = this.#anchors.get(this.#text.slice(event.anchorStart, event.anchorEnd)) ?? NONE;
      this.#kinds[spot] = this.#kinds[target] ?? PLAIN;
      this.#firstChildren[spot] = this.#firstChildren[target] ?? NONE;
      return spot;
    }
    this.#kinds[spot] =
      event.type === EVENT_ID.MAPPING ? MAP : event.type === EVENT_ID.SEQUENCE ? LIST : PLAIN;
    if (event.anchorStart !== -1)
      this.#anchors.set(this.#text.slice(event.anchorStart, event.anchorEnd), spot);
    return spot;
  }

  #name(spot: number, key: ScalarEvent | undefined): void {
    if (key === undefined) return;
    this.#keyOffsets[spot] = Math.max(offsetOf(key), key.anchorStart - 1);
    this.#nameStarts[spot] = Math.max(0, key.valueStart);
    this.#nameEnds[spot] = Math.max(0, key.valueEnd);
    if (!key.fast && key.valueStart >= 0) this.#names.set(spot, getScalarValue(this.#text, key));
  }

  /** The dash of an empty list item: events do not hold it, so it is searched for behind the value before. */
  #dashOffset({ spot, count, last }: Frame, from: number): number {
    const text = this.#text;
    const own = this.#offsets[spot] ?? NONE;
    if (own < 0) return NONE;
    let index = count === 0 ? own : from;
    if (last !== NONE && (this.#offsets[last] ?? NONE) < 0 && (this.#keyOffsets[last] ?? NONE) >= 0)
      index = (this.#keyOffsets[last] ?? 0) + 1;
    for (; index < text.length; index++) {
      const character = text[index] ?? '';
      if (character === '-' && !/\S/.test(text[index + 1] ?? '')) return index;
      if (character === '#') index = endOfLine(text, index);
      else if (/[^\s\]},'"-]/.test(character)) return NONE;
    }
    return NONE;
  }
}

function endOf(event: Event): number {
  if (event.type === EVENT_ID.SCALAR) return Math.max(event.valueEnd, event.anchorEnd);
  return event.type === EVENT_ID.ALIAS ? event.anchorEnd : offsetOf(event);
}

const endOfLine = (text: string, from: number): number => {
  const end = text.indexOf('\n', from);
  return end === -1 ? text.length : end;
};
