import { dump } from 'js-yaml';
import { isMap } from '../plain.ts';

/** How deep each level of a new block stands below the one above. */
const STEP = 2;
/** Up to so many characters a list of plain values stands on one line. */
const WIDEST_LIST = 80;

/** How things between brackets are written: `json` puts keys and texts in double quotes. */
export type FlowForm = 'plain' | 'json';

/** One line that reads as the value wherever YAML takes one, also within brackets. */
export function flowText(value: unknown, form: FlowForm = 'plain'): string {
  if (Array.isArray(value)) return `[${value.map(item => flowText(item, form)).join(', ')}]`;
  if (isMap(value)) {
    const entries = Object.entries(value).map(([key, entry]) => flowEntry(key, entry, form));
    return entries.length === 0 ? '{}' : `{ ${entries.join(', ')} }`;
  }
  const quoted = form === 'json' && typeof value === 'string' ? quotedText(value, '"') : undefined;
  return quoted ?? dump([value], { flowLevel: 0, lineWidth: -1 }).slice(1, -2);
}

/** An entry of a map between brackets. */
export const flowEntry = (key: string, value: unknown, form: FlowForm): string =>
  `${flowText(key, form)}: ${flowText(value, form)}`;

/** One line that reads as the text outside brackets, where commas and the like need no quotes. */
export const lineText = (text: string): string =>
  text.includes('\n') ? flowText(text) : dump([text], { lineWidth: -1 }).slice(2, -1);

/**
 * The value as it follows a key's colon or a dash, the white space between included: on the same line, or on lines
 * of their own, the first of which begins with a line break. `column` is where the key or dash stands.
 */
export function blockText(value: unknown, column: number): string {
  const below = ' '.repeat(column + STEP);
  if (isMap(value) && Object.keys(value).length > 0)
    return entryTexts(value, column + STEP)
      .map(text => `\n${below}${text}`)
      .join('');
  if (Array.isArray(value) && !fitsOneLine(value))
    return value.map(item => `\n${below}${itemText(item, column + STEP)}`).join('');
  if (typeof value !== 'string') return ` ${flowText(value)}`;
  return ` ${isLiteral(value) ? literalText(value, column) : lineText(value)}`;
}

/** An item of a list without brackets, from its dash on; the dash stands in `column`. */
export function itemText(value: unknown, column: number): string {
  if (!isMap(value) || Object.keys(value).length === 0) return `-${blockText(value, column)}`;
  const indent = `\n${' '.repeat(column + STEP)}`;
  return `- ${entryTexts(value, column + STEP).join(indent)}`;
}

/** `key: value`, the key in `column`. */
export const entryText = (key: string, value: unknown, column: number): string =>
  `${flowText(key)}:${blockText(value, column)}`;

const entryTexts = (map: object, column: number): string[] =>
  Object.entries(map).map(([key, entry]) => entryText(key, entry, column));

const fitsOneLine = (list: readonly unknown[]): boolean =>
  list.every(item => typeof item !== 'object' || item === null) && flowText(list).length <= WIDEST_LIST;

/** A text reads best as lines of its own when it has several, and nothing that only quotes can show. */
const isLiteral = (text: string): boolean =>
  text.includes('\n') &&
  /^[^\s\p{C}]/u.test(text) &&
  !/[^\P{C}\t\n]|[ \t]\n|\n{2,}$|\u2028|\u2029/u.test(text);

function literalText(text: string, column: number): string {
  const indent = ' '.repeat(column + STEP);
  const hasEnd = text.endsWith('\n');
  const lines = (hasEnd ? text.slice(0, -1) : text).split('\n');
  return [`|${hasEnd ? '' : '-'}`, ...lines.map(line => (line === '' ? '' : `${indent}${line}`))].join('\n');
}

/** The text in the quotes it stood in before, or undefined where they cannot hold it. */
export function quotedText(text: string, quote: string | undefined): string | undefined {
  if (/[^\P{C}]|\u2028|\u2029/u.test(text)) return undefined;
  if (quote === "'") return `'${text.replaceAll("'", "''")}'`;
  return quote === '"' ? JSON.stringify(text) : undefined;
}
