import { drawTree, NONE, type SpotTree } from './spots.ts';
import type { StructureFinding } from './structure.ts';

/** Keys and list indexes from the top of a document. */
export type Path = readonly PropertyKey[];

/** Where something stands in a text, both counted from 1; columns count characters. */
export interface TextPosition {
  readonly line: number;
  readonly column: number;
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

/** The places in a text. `draw` is called, and what lines and columns need is counted, at the first question. */
export function createTextPositions(
  text: string,
  draw: () => SpotTree = () => drawTree('', []),
): TextPositions {
  let drawn: SpotTree | undefined;
  let lineStarts: readonly number[] | undefined;
  let counts: readonly number[] | undefined;

  function treeOf(): SpotTree {
    drawn ??= draw();
    return drawn;
  }

  function find(path: Path): { readonly spot: number; readonly complete: boolean } {
    const tree = treeOf();
    let spot = tree.top;
    for (const step of path) {
      const child = tree.childOf(spot, String(step));
      if (child === NONE) return { spot, complete: false };
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
      const { offset, keyOffset, isCollection } = treeOf().spotAt(spot);
      const useKey = keyOffset >= 0 && (isCollection || offset < 0 || !complete);
      return at(Math.max(0, useKey ? keyOffset : offset));
    },
    ofKey(path) {
      const { offset, keyOffset } = treeOf().spotAt(find(path).spot);
      return at(Math.max(0, keyOffset >= 0 ? keyOffset : offset));
    },
    duplicates: () => treeOf().duplicates(),
  };
}

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
