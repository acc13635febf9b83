import { EVENT_ID, type Event, getScalarValue } from 'js-yaml';
import { offsetOf, type StructureFinding } from './structure.ts';

/** Keys and list indexes from the top of a document. */
export type Path = readonly PropertyKey[];

/** Where something stands in a text, both counted from 1; columns count characters. */
export interface TextPosition {
  readonly line: number;
  readonly column: number;
}

interface Spot {
  /** Where the value begins; -1 for an empty one. */
  readonly offset: number;
  /** Where its key begins, or its dash for an empty list item; -1 without. */
  readonly keyOffset: number;
  readonly collection: boolean;
  readonly children: Map<string, Spot>;
}

export interface TextPositions {
  /** The place of the value at the path, or of the deepest thing on the way to it that exists. */
  of(path: Path): TextPosition;
  /** The place of the key that ends the path. */
  ofKey(path: Path): TextPosition;
  at(offset: number): TextPosition;
  /** Keys that stand a second time in their map. */
  duplicates(): readonly StructureFinding[];
}

/** The places in a text. Nothing is computed, nor parsed again, before the first question: most files have no errors. */
export function createTextPositions(text: string, parse: () => readonly Event[]): TextPositions {
  let tree: Tree | undefined;
  let lineStarts: readonly number[] | undefined;
  let counts: readonly number[] | undefined;

  const drawn = (): Tree => {
    tree ??= drawTree(text, parse());
    return tree;
  };

  function find(path: Path): { readonly spot: Spot; readonly complete: boolean } {
    let spot = drawn().root;
    for (const step of path) {
      const child = spot.children.get(String(step));
      if (child === undefined) return { spot, complete: false };
      spot = child;
    }
    return { spot, complete: true };
  }

  /** Counts from the last step before, so that a question costs the same however long its line is. */
  function charactersBefore(offset: number): number {
    counts ??= charactersByStep(text);
    const step = Math.floor(offset / STEP);
    return (counts[step] ?? 0) + charactersIn(text, step * STEP, offset);
  }

  function at(offset: number): TextPosition {
    lineStarts ??= startsOfLines(text);
    const line = lastAtOrBefore(lineStarts, offset);
    const start = lineStarts[line] ?? 0;
    return { line: line + 1, column: charactersBefore(offset) - charactersBefore(start) + 1 };
  }

  return {
    at,
    of(path) {
      const { spot, complete } = find(path);
      const useKey = spot.keyOffset >= 0 && (spot.collection || spot.offset < 0 || !complete);
      return at(Math.max(0, useKey ? spot.keyOffset : spot.offset));
    },
    ofKey(path) {
      const { spot } = find(path);
      return at(Math.max(0, spot.keyOffset >= 0 ? spot.keyOffset : spot.offset));
    },
    duplicates: () => drawn().duplicates,
  };
}

interface Tree {
  readonly root: Spot;
  readonly duplicates: readonly StructureFinding[];
}

interface Frame {
  readonly spot: Spot;
  readonly mapping: boolean;
  key: { readonly name: string; readonly offset: number } | undefined;
  count: number;
}

/** Follows events that `inspectStructure` found in order. */
function drawTree(text: string, events: readonly Event[]): Tree {
  const root: Spot = { offset: 0, keyOffset: -1, collection: true, children: new Map() };
  const frames: Frame[] = [{ spot: root, mapping: false, key: undefined, count: 0 }];
  const anchors = new Map<string, Spot>();
  const duplicates: StructureFinding[] = [];
  let top: Spot = root;
  let lastEnd = 0;

  /** Hangs a value under its key or index. */
  function place(frame: Frame, offset: number, collection: boolean, children: Map<string, Spot>): Spot {
    const keyOffset = frame.mapping
      ? (frame.key?.offset ?? -1)
      : offset < 0
        ? dashOffset(text, frame, lastEnd)
        : -1;
    const spot: Spot = { offset, keyOffset, collection, children };
    const name = frame.mapping ? (frame.key?.name ?? '') : String(frame.count++);
    if (frame.spot.children.has(name)) duplicates.push(duplicate(name, keyOffset));
    frame.spot.children.set(name, spot);
    frame.key = undefined;
    if (frame.spot === root) top = spot;
    return spot;
  }

  for (const event of events) {
    const frame = frames.at(-1);
    if (frame === undefined || event.type === EVENT_ID.DOCUMENT) continue;
    if (event.type === EVENT_ID.POP) {
      frames.pop();
      continue;
    }
    const offset = offsetOf(event);
    if (event.type === EVENT_ID.SCALAR && frame.mapping && frame.key === undefined) {
      frame.key = { name: getScalarValue(text, event), offset: Math.max(offset, event.anchorStart - 1) };
    } else if (event.type === EVENT_ID.ALIAS) {
      const target = anchors.get(text.slice(event.anchorStart, event.anchorEnd));
      place(frame, offset, target?.collection ?? false, target?.children ?? new Map());
    } else {
      const collection = event.type !== EVENT_ID.SCALAR;
      const spot = place(frame, offset, collection, new Map());
      if (event.anchorStart !== -1) anchors.set(text.slice(event.anchorStart, event.anchorEnd), spot);
      if (collection)
        frames.push({ spot, mapping: event.type === EVENT_ID.MAPPING, key: undefined, count: 0 });
    }
    lastEnd = Math.max(lastEnd, endOf(event));
  }
  return { root: top, duplicates };
}

const duplicate = (name: string, offset: number): StructureFinding => ({
  offset,
  message: `the key '${name}' stands twice in this map; remove one`,
});

function endOf(event: Event): number {
  if (event.type === EVENT_ID.SCALAR) return Math.max(event.valueEnd, event.anchorEnd);
  return event.type === EVENT_ID.ALIAS ? event.anchorEnd : offsetOf(event);
}

/** The dash of an empty list item: events do not hold it, so it is searched for behind the value before. */
function dashOffset(text: string, frame: Frame, from: number): number {
  if (frame.spot.offset < 0) return -1;
  let index = frame.count === 0 ? frame.spot.offset : from;
  const before = frame.spot.children.get(String(frame.count - 1));
  if (before !== undefined && before.offset < 0 && before.keyOffset >= 0) index = before.keyOffset + 1;
  for (; index < text.length; index++) {
    const character = text[index] ?? '';
    if (character === '-' && !/\S/.test(text[index + 1] ?? '')) return index;
    if (character === '#') index = endOfLine(text, index);
    else if (/[^\s\]},'"-]/.test(character)) return -1;
  }
  return -1;
}

const endOfLine = (text: string, from: number): number => {
  const end = text.indexOf('\n', from);
  return end === -1 ? text.length : end;
};

/** Code units between two places whose characters are counted beforehand. */
const STEP = 1024;

/** How many characters stand before each step. */
function charactersByStep(text: string): number[] {
  const counts = [0];
  for (let end = STEP; end <= text.length; end += STEP)
    counts.push((counts.at(-1) ?? 0) + charactersIn(text, end - STEP, end));
  return counts;
}

/** The second half of a surrogate pair is no character of its own. */
function charactersIn(text: string, from: number, to: number): number {
  let count = 0;
  for (let index = from; index < to; index++) if ((text.charCodeAt(index) & 0xfc00) !== 0xdc00) count++;
  return count;
}

function startsOfLines(text: string): number[] {
  const starts = [0];
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code === 10 || (code === 13 && text.charCodeAt(index + 1) !== 10)) starts.push(index + 1);
  }
  return starts;
}

function lastAtOrBefore(sorted: readonly number[], value: number): number {
  let low = 0;
  let high = sorted.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((sorted[middle] ?? 0) <= value) low = middle;
    else high = middle - 1;
  }
  return low;
}
