import { isDeepStrictEqual } from 'node:util';
import { isMap, type PlainMap } from '../plain.ts';
import {
  blockText,
  entryText,
  type FlowForm,
  flowEntry,
  flowText,
  itemText,
  lineText,
  quotedText,
} from './render.ts';
import {
  columnOf,
  endOfLine,
  lineBreakOf,
  skipBlank,
  startOfLine,
  type TextSpan,
  type YamlComment,
} from './spans.ts';

/** A text and the comments in it. */
export interface CommentedText {
  readonly text: string;
  readonly comments: readonly YamlComment[];
}

/** A part of a text and what takes its place. */
export interface Splice {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/**
 * The text with the splices in it, in its own line breaks; those at one place in the order given. Undefined when they
 * overlap.
 */
export function spliced(text: string, splices: readonly Splice[]): string | undefined {
  const lineBreak = lineBreakOf(text);
  const ordered = [...splices].sort((one, other) => one.start - other.start || one.end - other.end);
  let result = '';
  let at = 0;
  for (const splice of ordered) {
    if (splice.start < at) return undefined;
    result += text.slice(at, splice.start) + splice.text.replaceAll('\n', lineBreak);
    at = splice.end;
  }
  return result + text.slice(at);
}

/**
 * What to splice so that the value at the span reads as `after` and nothing else changes: what stays equal keeps its
 * form, and every comment stays, those of a removed entry on lines of their own.
 */
export function changeValue(
  sheet: CommentedText,
  span: TextSpan,
  before: unknown,
  after: unknown,
  inFlow: boolean,
): Splice[] {
  if (isDeepStrictEqual(before, after)) return [];
  if (span.kind === 'map' && isMap(before) && isMap(after))
    return changeEntries(sheet, span, mapPlan(span, before, after), inFlow);
  if (span.kind === 'list' && Array.isArray(before) && Array.isArray(after))
    return changeEntries(sheet, span, listPlan(before, after), inFlow);
  return [replaceValue(sheet, span, after, inFlow)];
}

interface Plan {
  readonly kept: readonly { readonly index: number; readonly before: unknown; readonly after: unknown }[];
  readonly removed: ReadonlySet<number>;
  /** New entries: those of a map with a key. */
  readonly added: readonly { readonly key?: string; readonly value: unknown }[];
}

function mapPlan(span: TextSpan, before: PlainMap, after: PlainMap): Plan {
  const stays = ({ key }: TextSpan): boolean => key !== undefined && Object.hasOwn(after, key);
  return {
    kept: span.entries.flatMap((entry, index) =>
      entry.key !== undefined && stays(entry)
        ? [{ index, before: before[entry.key], after: after[entry.key] }]
        : [],
    ),
    removed: new Set(span.entries.flatMap((entry, index) => (stays(entry) ? [] : [index]))),
    added: Object.entries(after).flatMap(([key, value]) =>
      Object.hasOwn(before, key) ? [] : [{ key, value }],
    ),
  };
}

/** Items are matched by their id or name, or else by place. */
function listPlan(before: readonly unknown[], after: readonly unknown[]): Plan {
  const from = before.map(itemKey);
  const to = after.map(itemKey);
  const stays = from.filter(name => to.includes(name));
  const isUnique = new Set(from).size === from.length && new Set(to).size === to.length;
  const isInOrder = isUnique && stays.every((name, place) => to[place] === name);
  const partner = (index: number): number => (isInOrder ? to.indexOf(from[index] ?? '') : index);
  const isKept = (index: number): boolean => partner(index) !== -1 && partner(index) < after.length;
  const indexes = [...before.keys()];
  return {
    kept: indexes
      .filter(isKept)
      .map(index => ({ index, before: before[index], after: after[partner(index)] })),
    removed: new Set(indexes.filter(index => !isKept(index))),
    added: after.slice(isInOrder ? stays.length : before.length).map(value => ({ value })),
  };
}

function itemKey(item: unknown): string {
  const name = isMap(item) ? (item.id ?? item.name) : undefined;
  return typeof name === 'string' ? `name ${name}` : `value ${JSON.stringify(item)}`;
}

function changeEntries(sheet: CommentedText, span: TextSpan, plan: Plan, inFlow: boolean): Splice[] {
  const flow = inFlow || span.flow;
  const kept = plan.kept.flatMap(({ index, before, after }) => {
    const entry = span.entries[index];
    return entry === undefined ? [] : changeValue(sheet, entry, before, after, flow);
  });
  if (flow) {
    const form = flowFormOf(sheet, span);
    const texts = plan.added.map(({ key, value }) =>
      key === undefined ? flowText(value, form) : flowEntry(key, value, form),
    );
    if (plan.kept.length === 0) return [refill(sheet, span, texts, sheet.comments)];
    return [
      ...kept,
      ...addInFlow(sheet, span, lastKept(span, plan.removed), texts),
      ...removeInFlow(sheet, span, plan.removed, () => true),
    ];
  }
  const column = columnOf(sheet.text, span.entries[0]?.head ?? span.start);
  const texts = plan.added.map(({ key, value }) =>
    key === undefined ? itemText(value, column) : entryText(key, value, column),
  );
  return [
    ...kept,
    ...removeInBlock(sheet, span, plan.removed),
    ...addInBlock(sheet, span, texts),
    ...(plan.kept.length + texts.length === 0 ? emptied(span) : []),
  ];
}

/** The form of the first key. */
export const flowFormOf = ({ text }: CommentedText, { entries }: TextSpan): FlowForm =>
  entries[0] !== undefined && text[entries[0].head] === '"' ? 'json' : 'plain';

const lastKept = ({ entries }: TextSpan, removed: ReadonlySet<number>): TextSpan | undefined =>
  entries.filter((_, index) => !removed.has(index)).at(-1);

/** Without entries a collection needs brackets to be one. */
function emptied({ kind, key, lead }: TextSpan): Splice[] {
  return key === undefined ? [] : [{ start: lead, end: lead, text: kind === 'map' ? ' {}' : ' []' }];
}

/** Chooses comments that stay although the text around them is removed. */
type Stays = (comment: YamlComment) => boolean;

/** Takes entries out that stand on lines of their own, their comments left on such lines. */
function removeInBlock(
  { text, comments }: CommentedText,
  { entries }: TextSpan,
  removed: ReadonlySet<number>,
): Splice[] {
  const splices: Splice[] = [];
  for (const [index, entry] of entries.entries()) {
    if (!removed.has(index)) continue;
    const start = startOfLine(text, entry.head);
    const indent = ' '.repeat(entry.head - start);
    const next = entries[index + 1];
    // The first key of a list's item shares its line with the dash.
    const sharesLine = text.slice(start, entry.head).trim() !== '';
    const end = sharesLine ? (next?.head ?? entry.end) : behindLine(text, entry.end);
    const staying = within(comments, entry.head, end);
    const lines = staying.map(comment => `${text.slice(comment.start, comment.end)}\n${indent}`).join('');
    splices.push(
      sharesLine
        ? { start: entry.head, end, text: lines }
        : { start, end, text: lines === '' ? '' : `${indent}${lines.slice(0, -indent.length || undefined)}` },
    );
  }
  return splices;
}

/** Adds lines behind the last entry and the comments that are set in as deep as it is. */
function addInBlock({ text }: CommentedText, { entries }: TextSpan, texts: readonly string[]): Splice[] {
  const last = entries.at(-1);
  if (last === undefined || texts.length === 0) return [];
  const column = columnOf(text, entries[0]?.head ?? last.head);
  const at = behindComments(text, behindLine(text, last.end), column);
  const indent = ' '.repeat(column);
  return [{ start: at, end: at, text: texts.map(line => `${indent}${line}\n`).join('') }];
}

/** Where the line after the one that ends at `end` begins; a block scalar ends there itself. */
const behindLine = (text: string, end: number): number =>
  end > 0 && text[end - 1] === '\n' ? end : endOfLine(text, end).next;

/** Skips lines that hold nothing but a comment deeper than `column`. */
function behindComments(text: string, from: number, column: number): number {
  let at = from;
  for (;;) {
    const found = /^( *)#/.exec(text.slice(at, at + 200));
    if (found === null || (found[1] ?? '').length <= column) return at;
    at = endOfLine(text, at).next;
  }
}

const within = (comments: readonly YamlComment[], start: number, end: number): YamlComment[] =>
  comments.filter(comment => comment.start >= start && comment.start < end);

/** Takes entries out from between brackets, with the commas that are too many then. */
function removeInFlow(
  { text, comments }: CommentedText,
  { entries }: TextSpan,
  removed: ReadonlySet<number>,
  stays: Stays,
): Splice[] {
  const splices: Splice[] = [];
  for (const [index, entry] of entries.entries()) {
    if (!removed.has(index)) continue;
    const next = entries[index + 1];
    const kept = lastKept({ ...entry, entries: entries.slice(0, index) }, removed);
    const isTail = entries.slice(index).every((_, offset) => removed.has(index + offset));
    if (isTail && kept !== undefined && removed.has(index - 1)) continue;
    const start = isTail && kept !== undefined ? kept.end : entry.head;
    const end = isTail ? (entries.at(-1)?.end ?? entry.end) : (next?.head ?? entry.end);
    const indent = ' '.repeat(columnOf(text, entry.head));
    const lines = within(comments, start, end)
      .filter(stays)
      .map(comment => `${text.slice(comment.start, comment.end)}\n${indent}`)
      .join('');
    splices.push({ start, end, text: isTail && lines !== '' ? ` ${lines}` : lines });
  }
  return splices;
}

/** Adds behind the last entry that stays, on lines of their own where entries stand so. */
export function addInFlow(
  { text }: CommentedText,
  span: TextSpan,
  last: TextSpan | undefined,
  texts: readonly string[],
): Splice[] {
  if (last === undefined || texts.length === 0) return [];
  const at = skipBlank(text, last.end);
  const hasComma = text[at] === ',';
  const lineStart = startOfLine(text, last.head);
  const lineEnd = endOfLine(text, hasComma ? at : last.end);
  const ownLines =
    last === span.entries.at(-1) && lineStart > span.start && text.slice(lineStart, last.head).trim() === '';
  const endsLine = /^[ \t]*(?:#.*)?$/.test(text.slice(hasComma ? at + 1 : last.end, lineEnd.end));
  if (!ownLines || !endsLine) return [{ start: last.end, end: last.end, text: `, ${texts.join(', ')}` }];
  const indent = text.slice(lineStart, last.head);
  const lines = texts.map(line => `${indent}${line}`).join(',\n');
  return [
    ...(hasComma ? [] : [{ start: last.end, end: last.end, text: ',' }]),
    { start: lineEnd.next, end: lineEnd.next, text: `${lines}${hasComma ? ',' : ''}\n` },
  ];
}

/** Puts entries in place of all that stands between the brackets, but for comments. */
export function refill(
  { text }: CommentedText,
  span: TextSpan,
  texts: readonly string[],
  comments: readonly YamlComment[],
): Splice {
  const start = span.start + 1;
  const end = span.end - 1;
  const indent = ' '.repeat(columnOf(text, span.start) + 2);
  const staying = within(comments, start, end).map(
    comment => `\n${indent}${text.slice(comment.start, comment.end)}`,
  );
  const content = texts.join(', ');
  if (staying.length > 0) return { start, end, text: `${staying.join('')}\n${indent}${content}` };
  const pad = span.kind === 'map' && content !== '' ? ' ' : '';
  return { start, end, text: `${pad}${content}${pad}` };
}

/** Puts a value of another kind, or another scalar, in the place of one. */
function replaceValue(
  { text, comments }: CommentedText,
  span: TextSpan,
  after: unknown,
  inFlow: boolean,
): Splice {
  const isBlock = (span.kind === 'map' || span.kind === 'list') && !span.flow;
  const start = isBlock || span.kind === 'empty' ? span.lead : span.start;
  const column = columnOf(text, span.head);
  const staying = within(comments, start, span.end).map(({ start, end }) => text.slice(start, end));
  const value = valueText(text, span, after, inFlow || staying.length > 0 ? 'line' : 'lines', column);
  const gap = start === span.lead && !/^\s/.test(value) ? ' ' : '';
  const endsLine = span.end > start && text[span.end - 1] === '\n' ? '\n' : '';
  const indent = `\n${' '.repeat(column + 2)}`;
  const notes = staying.map((comment, index) => `${index === 0 ? ' ' : indent}${comment}`).join('');
  const close = inFlow && notes !== '' ? indent : endsLine;
  return { start, end: span.end, text: `${gap}${value}${notes}${close}` };
}

/** As lines only where nothing follows in the line. */
function valueText(
  text: string,
  span: TextSpan,
  after: unknown,
  form: 'line' | 'lines',
  column: number,
): string {
  const token = text.charAt(span.start);
  if (span.kind === 'scalar' && typeof after === 'string') {
    const quoted = quotedText(after, token);
    if (quoted !== undefined) return quoted;
  }
  const isFree = text.slice(span.end, endOfLine(text, span.end).end).trim() === '';
  const hasRoom = span.kind === 'block-scalar' || isFree;
  if (form === 'line') return flowText(after);
  if (typeof after === 'string') return hasRoom ? blockText(after, column).trimStart() : lineText(after);
  return span.kind === 'empty' && isFree ? blockText(after, column) : flowText(after);
}

/** An item as it stands in its section. */
export interface ItemPlace {
  readonly section: TextSpan;
  readonly index: number;
  readonly span: TextSpan;
  readonly value: unknown;
}

/** Where the item of that id stands, if it does. */
export function findItem(section: TextSpan | undefined, items: unknown, id: string): ItemPlace | undefined {
  const index = Array.isArray(items)
    ? items.findIndex(item => isMap(item) && item.id === id)
    : (section?.entries.findIndex(({ key }) => key === id) ?? -1);
  const span = section?.entries[index];
  if (section === undefined || span === undefined) return undefined;
  return {
    section,
    index,
    span,
    value: Array.isArray(items) ? items[index] : isMap(items) ? items[id] : null,
  };
}

/** The comments that belong to an item: within it, and behind it in its last line. */
export const commentsOf = (sheet: CommentedText, place: ItemPlace): YamlComment[] =>
  sheet.comments.filter(({ start }) => start >= place.span.head && start < lastOf(sheet, place));

/** Comments below that are set in deeper belong to the item, too. */
const lastOf = ({ text }: CommentedText, { section, span }: ItemPlace): number =>
  section.flow
    ? behindLine(text, span.end)
    : behindComments(text, behindLine(text, span.end), columnOf(text, span.head));

export function removeItem(sheet: CommentedText, place: ItemPlace): Splice[] {
  const { section, index, span } = place;
  const isOnly = section.entries.length === 1;
  if (!section.flow)
    return [
      { start: startOfLine(sheet.text, span.head), end: lastOf(sheet, place), text: '' },
      ...(isOnly ? emptied(section) : []),
    ];
  const isOutside = ({ start }: YamlComment): boolean => start < span.head || start >= span.end;
  if (isOnly) return [refill(sheet, section, [], sheet.comments.filter(isOutside))];
  return removeInFlow(sheet, section, new Set([index]), isOutside);
}

/** Adds an item behind the last one, in its style. */
export function addItem(sheet: CommentedText, section: TextSpan, id: string, value: PlainMap): Splice[] {
  const last = section.entries.at(-1);
  const inMap = section.kind === 'map';
  const { id: _, ...content } = value;
  const form = flowFormOf(sheet, last ?? section);
  const inLine = (): string => (inMap ? flowEntry(id, content, form) : flowText(value, form));
  if (section.flow)
    return last === undefined
      ? [refill(sheet, section, [inLine()], sheet.comments)]
      : addInFlow(sheet, section, last, [inLine()]);
  const column =
    last === undefined ? columnOf(sheet.text, section.head) + 2 : columnOf(sheet.text, last.head);
  if (last?.flow) return addInBlock(sheet, section, [`${inMap ? '' : '- '}${inLine()}`]);
  const lines = inMap ? entryText(id, content, column) : itemText(value, column);
  if (last === undefined) return addFirst(sheet, section, `${' '.repeat(column)}${lines}\n`);
  return addInBlock(sheet, section, [lines]);
}

/** Whatever says that the section is empty goes. */
function addFirst({ text }: CommentedText, { head, lead, end }: TextSpan, lines: string): Splice[] {
  const at = behindComments(text, behindLine(text, end), columnOf(text, head));
  return [
    { start: lead, end, text: '' },
    { start: at, end: at, text: lines },
  ];
}

/** A section that says `[]` or `{}` is taken for one without brackets where the file has none around it. */
export function opened(section: TextSpan, root: TextSpan, { comments }: CommentedText): TextSpan {
  const holdsComment = comments.some(({ start }) => start > section.start && start < section.end);
  return section.entries.length > 0 || root.flow || holdsComment ? section : { ...section, flow: false };
}

export const changeItem = (
  sheet: CommentedText,
  { section, span, value }: ItemPlace,
  after: PlainMap,
): Splice[] => changeValue(sheet, span, value, after, section.flow);

/** Writes an item anew, its comments above it. Undefined where it has no lines of its own. */
export function rewriteItem(sheet: CommentedText, place: ItemPlace, after: PlainMap): Splice[] | undefined {
  const { section, span } = place;
  const { text } = sheet;
  const start = startOfLine(text, span.head);
  if (section.flow || text.slice(start, span.head).trim() !== '') return undefined;
  const column = span.head - start;
  const lines = section.kind === 'map' ? entryText(span.key ?? '', after, column) : itemText(after, column);
  const comments = commentsOf(sheet, place).map(comment => text.slice(comment.start, comment.end));
  const indent = ' '.repeat(column);
  const content = [...comments, lines].map(line => `${indent}${line}\n`).join('');
  return [{ start, end: lastOf(sheet, place), text: content }];
}
