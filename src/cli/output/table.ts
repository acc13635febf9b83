import { coloursFor } from '../../lib/colours.ts';
import { terminalText } from '../../lib/text.ts';
import { print, printStyled } from './output.ts';

const { bold, green, yellow, red } = coloursFor(process.stdout);

/** Flags of a command that prints an object or a list. */
export interface OutputFlags {
  readonly json?: boolean;
}

/** A column with its heading. */
export interface Column<Row> {
  readonly name: string;
  readonly of: (row: Row) => unknown;
}

/** Prints `{items, count}` as the API answers it, or a table. */
export function printList<Row extends object>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  { json }: OutputFlags,
  none: string,
): void {
  if (json) print(asJson({ items: rows, count: rows.length }));
  else if (rows.length === 0) print(none);
  else for (const line of tableLines(columns, rows)) printStyled(line);
}

export function printItem(item: object, { json }: OutputFlags): void {
  if (json) print(asJson(item));
  else for (const line of objectLines(item)) printStyled(line);
}

export const asJson = (value: object): string => JSON.stringify(value, null, 2);

/** Columns are as wide as their cells. Control characters in data never reach the terminal. */
function tableLines<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): string[] {
  const cells = rows.map(row => columns.map(({ of }) => cellOf(of(row))));
  const widths = columns.map(({ name }, index) =>
    Math.max(name.length, ...cells.map(line => widthOf(line[index] ?? ''))),
  );
  const lineOf = (line: readonly string[]): string =>
    line
      .map((cell, index) => cell + ' '.repeat((widths[index] ?? 0) - widthOf(cell)))
      .join('  ')
      .trimEnd();
  return [
    bold(lineOf(columns.map(({ name }) => name.toUpperCase()))),
    ...cells.map(line => coloured(lineOf(line))),
  ];
}

/** A line for each key, nested keys by their path. */
const objectLines = (value: object): string[] => {
  const entries = leavesOf(value, '');
  const width = Math.max(0, ...entries.map(([key]) => key.length));
  return entries.map(([key, leaf]) => coloured(`${key.padEnd(width)}  ${cellOf(leaf)}`.trimEnd()));
};

function leavesOf(value: object, prefix: string): [string, unknown][] {
  return Object.entries(value).flatMap(([key, one]): [string, unknown][] => {
    const path = cellOf(prefix === '' ? key : `${prefix}.${key}`);
    const isMap = typeof one === 'object' && one !== null && !Array.isArray(one);
    return isMap && Object.keys(one).length > 0 ? leavesOf(one, path) : [[path, one]];
  });
}

function cellOf(value: unknown): string {
  if (value === undefined || value === null) return '';
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value);
  return terminalText(text.replace(/[\r\n\t\u2028\u2029]+/g, ' '));
}

/** In code points, which is close enough for ids and texts. */
const widthOf = (text: string): number => [...text].length;

const COLOURS: readonly (readonly [RegExp, (text: string) => string])[] = [
  [/\b(Green|sent|closed|reachable|healthy)\b/, green],
  [/\b(Yellow|waiting|warn)\b/, yellow],
  [/\b(Red|exhausted|refused|open|unreachable|error|fatal|nobody)\b/, red],
];

const coloured = (line: string): string =>
  COLOURS.reduce((text, [words, colour]) => text.replace(words, word => colour(word)), line);
