/** One line of a difference, numbered from 1 in the texts it is in. */
export type DiffLine =
  | { readonly kind: 'context'; readonly old: number; readonly new: number; readonly text: string }
  | { readonly kind: 'delete'; readonly old: number; readonly text: string }
  | { readonly kind: 'insert'; readonly new: number; readonly text: string };

/** Changes near each other with the lines around them. */
export interface DiffBlock {
  readonly oldStart: number;
  readonly newStart: number;
  readonly lines: readonly DiffLine[];
}

/** Unchanged lines shown around a change. */
const CONTEXT = 3;
/** Beyond so many steps the shortest way is not worth its search: what differs is then shown as replaced. */
const MOST_STEPS = 1000;

/** How one text became another, line by line. */
export function lineDiff(before: string, after: string): DiffBlock[] {
  return blocksOf(compare(linesOf(before), linesOf(after)));
}

/** As `diff -u` prints it, without file names. */
export const unifiedText = (blocks: readonly DiffBlock[]): string =>
  blocks.map(block => [headerOf(block), ...block.lines.map(shown)].join('\n')).join('\n');

/** `@@ -1,3 +1,4 @@` */
export function headerOf({ oldStart, newStart, lines }: DiffBlock): string {
  const oldCount = lines.filter(({ kind }) => kind !== 'insert').length;
  const newCount = lines.filter(({ kind }) => kind !== 'delete').length;
  return `@@ -${oldStart},${oldCount} +${newStart},${newCount} @@`;
}

const MARKS = { context: ' ', delete: '-', insert: '+' } as const;

export const shown = ({ kind, text }: DiffLine): string => `${MARKS[kind]}${text}`;

function linesOf(text: string): string[] {
  if (text === '') return [];
  const lines = text.split(/\r?\n/);
  return lines.at(-1) === '' ? lines.slice(0, -1) : lines;
}

function compare(before: readonly string[], after: readonly string[]): DiffLine[] {
  const most = Math.min(before.length, after.length);
  let head = 0;
  while (head < most && before[head] === after[head]) head++;
  let tail = 0;
  while (tail < most - head && before.at(-1 - tail) === after.at(-1 - tail)) tail++;
  const middle = shortestEditPath(
    before.slice(head, before.length - tail),
    after.slice(head, after.length - tail),
  ).map(step => moved(step, head));
  const context = (old: number, now: number): DiffLine => ({
    kind: 'context',
    old,
    new: now,
    text: before[old - 1] ?? '',
  });
  return [
    ...Array.from({ length: head }, (_, index) => context(index + 1, index + 1)),
    ...middle,
    ...Array.from({ length: tail }, (_, index) =>
      context(before.length - tail + index + 1, after.length - tail + index + 1),
    ),
  ];
}

function moved(line: DiffLine, by: number): DiffLine {
  if (line.kind === 'delete') return { ...line, old: line.old + by };
  if (line.kind === 'insert') return { ...line, new: line.new + by };
  return { ...line, old: line.old + by, new: line.new + by };
}

/** Myers' greedy search: for each number of steps the furthest reached on every diagonal. */
function shortestEditPath(before: readonly string[], after: readonly string[]): DiffLine[] {
  const trace: Int32Array[] = [];
  const offset = MOST_STEPS + 1;
  let reached = new Int32Array(2 * offset + 1);
  for (let steps = 0; steps <= MOST_STEPS; steps++) {
    for (let diagonal = -steps; diagonal <= steps; diagonal += 2) {
      let x = nextX(reached, offset, diagonal, steps);
      while (x < before.length && x - diagonal < after.length && before[x] === after[x - diagonal]) x++;
      reached[offset + diagonal] = x;
      if (x >= before.length && x - diagonal >= after.length) return traceBack(trace, before, after, offset);
    }
    trace.push(reached);
    reached = reached.slice();
  }
  return [
    ...before.map((text, index): DiffLine => ({ kind: 'delete', old: index + 1, text })),
    ...after.map((text, index): DiffLine => ({ kind: 'insert', new: index + 1, text })),
  ];
}

/** Down when that reaches further, else to the right. */
function nextX(reached: Int32Array, offset: number, diagonal: number, steps: number): number {
  const left = reached[offset + diagonal - 1] ?? 0;
  const above = reached[offset + diagonal + 1] ?? 0;
  return diagonal === -steps || (diagonal !== steps && left < above) ? above : left + 1;
}

/** From the end to the beginning: unchanged lines, then the one step that led to them, and so on. */
function traceBack(
  trace: readonly Int32Array[],
  before: readonly string[],
  after: readonly string[],
  offset: number,
): DiffLine[] {
  const lines: DiffLine[] = [];
  let x = before.length;
  let y = after.length;
  function unchanged(until: number): void {
    for (; x > until; x--, y--) lines.push({ kind: 'context', old: x, new: y, text: before[x - 1] ?? '' });
  }
  for (let steps = trace.length; steps > 0; steps--) {
    const reached = trace[steps - 1] ?? new Int32Array();
    const diagonal = x - y;
    const left = reached[offset + diagonal - 1] ?? 0;
    const above = reached[offset + diagonal + 1] ?? 0;
    const isDown = diagonal === -steps || (diagonal !== steps && left < above);
    unchanged(isDown ? above : left + 1);
    if (isDown) lines.push({ kind: 'insert', new: y, text: after[--y] ?? '' });
    else lines.push({ kind: 'delete', old: x, text: before[--x] ?? '' });
  }
  unchanged(0);
  return lines.reverse();
}

/** Only what is near a change. */
function blocksOf(lines: readonly DiffLine[]): DiffBlock[] {
  const blocks: DiffBlock[] = [];
  let start = -1;
  let lastChange = -1;
  const end = (upTo: number): void => {
    if (start >= 0) blocks.push(blockOf(lines.slice(start, upTo), lines.slice(0, start)));
  };
  for (const [index, { kind }] of lines.entries()) {
    if (kind === 'context') continue;
    if (start === -1 || index - lastChange > 2 * CONTEXT + 1) {
      end(lastChange + 1 + CONTEXT);
      start = Math.max(0, index - CONTEXT);
    }
    lastChange = index;
  }
  end(lastChange + 1 + CONTEXT);
  return blocks;
}

/** An empty side starts behind the line before it, as `diff` counts. */
function blockOf(lines: readonly DiffLine[], above: readonly DiffLine[]): DiffBlock {
  const old = lines.find(line => line.kind !== 'insert');
  const now = lines.find(line => line.kind !== 'delete');
  return {
    oldStart: old?.old ?? above.filter(({ kind }) => kind !== 'insert').length,
    newStart: now?.new ?? above.filter(({ kind }) => kind !== 'delete').length,
    lines,
  };
}
