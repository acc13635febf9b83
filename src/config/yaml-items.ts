import { columnOf, startOfLine } from './lines.ts';
import { isMap, type PlainMap } from './plain.ts';
import {
  addInBlock,
  addInFlow,
  behindComments,
  behindLine,
  changeValue,
  emptied,
  flowFormOf,
  refill,
  removeInFlow,
  type Sheet,
  type Splice,
} from './yaml-change.ts';
import { entryText, flowEntry, flowText, itemText } from './yaml-render.ts';
import type { Comment, Span } from './yaml-spans.ts';

/** An item as it stands in its section. */
export interface Place {
  readonly section: Span;
  readonly index: number;
  readonly span: Span;
  readonly value: unknown;
}

/** Where the item of that id stands, if it does. */
export function findItem(section: Span | undefined, items: unknown, id: string): Place | undefined {
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
export const commentsOf = (sheet: Sheet, place: Place): Comment[] =>
  sheet.comments.filter(({ start }) => start >= place.span.head && start < lastOf(sheet, place));

/** Comments below that are set in deeper belong to the item, too. */
const lastOf = ({ text }: Sheet, { section, span }: Place): number =>
  section.flow
    ? behindLine(text, span.end)
    : behindComments(text, behindLine(text, span.end), columnOf(text, span.head));

export function removeItem(sheet: Sheet, place: Place): Splice[] {
  const { section, index, span } = place;
  const isOnly = section.entries.length === 1;
  if (!section.flow)
    return [
      { start: startOfLine(sheet.text, span.head), end: lastOf(sheet, place), text: '' },
      ...(isOnly ? emptied(section) : []),
    ];
  const isOutside = ({ start }: Comment): boolean => start < span.head || start >= span.end;
  if (isOnly) return [refill(sheet, section, [], sheet.comments.filter(isOutside))];
  return removeInFlow(sheet, section, new Set([index]), isOutside);
}

/** Adds an item behind the last one, in its style. */
export function addItem(sheet: Sheet, section: Span, id: string, value: PlainMap): Splice[] {
  const last = section.entries.at(-1);
  const inMap = section.kind === 'map';
  const { id: _, ...content } = value;
  const form = flowFormOf(sheet, last ?? section);
  const inLine = inMap ? flowEntry(id, content, form) : flowText(value, form);
  if (section.flow)
    return last === undefined
      ? [refill(sheet, section, [inLine], sheet.comments)]
      : addInFlow(sheet, section, last, [inLine]);
  const column =
    last === undefined ? columnOf(sheet.text, section.head) + 2 : columnOf(sheet.text, last.head);
  const lines = inMap ? entryText(id, content, column) : itemText(value, column);
  if (last === undefined) return addFirst(sheet, section, `${' '.repeat(column)}${lines}\n`);
  return addInBlock(sheet, section, [last.flow ? `${inMap ? '' : '- '}${inLine}` : lines]);
}

/** Whatever says that the section is empty goes. */
function addFirst({ text }: Sheet, { head, lead, end }: Span, lines: string): Splice[] {
  const at = behindComments(text, behindLine(text, end), columnOf(text, head));
  return [
    { start: lead, end, text: '' },
    { start: at, end: at, text: lines },
  ];
}

/** A section that says `[]` or `{}` is taken for one without brackets where the file has none around it. */
export function opened(section: Span, root: Span, { comments }: Sheet): Span {
  const holdsComment = comments.some(({ start }) => start > section.start && start < section.end);
  return section.entries.length > 0 || root.flow || holdsComment ? section : { ...section, flow: false };
}

export const changeItem = (sheet: Sheet, { section, span, value }: Place, after: PlainMap): Splice[] =>
  changeValue(sheet, span, value, after, section.flow);

/** Writes an item anew, its comments above it. Undefined where it has no lines of its own. */
export function rewriteItem(sheet: Sheet, place: Place, after: PlainMap): Splice[] | undefined {
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
