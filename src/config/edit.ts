import { isDeepStrictEqual } from 'node:util';
import { AppError } from '../lib/errors.ts';
import type { Edit } from './change.ts';
import { lineBreakOf } from './lines.ts';
import { isMap, type PlainMap, plainCopy } from './plain.ts';
import { withoutMark } from './text.ts';
import { readYaml } from './yaml.ts';
import {
  addInFlow,
  changeValue,
  flowFormOf,
  refill,
  type Sheet,
  type Splice,
  spliced,
} from './yaml-change.ts';
import { addItem, changeItem, commentsOf, findItem, opened, removeItem, rewriteItem } from './yaml-items.ts';
import { entryText, flowEntry } from './yaml-render.ts';
import { type Outline, outline, type Span } from './yaml-spans.ts';

/** A file before a change, and what it shall hold after. */
interface Task {
  readonly edit: Edit;
  readonly sheet: Sheet;
  readonly root: Span | undefined;
  readonly before: PlainMap;
  readonly after: PlainMap;
}

/**
 * The text with one item changed, added or removed, and everything else as it is: comments, order, styles, line
 * breaks. Comments within a removed item go with it. Pure.
 * Throws `configuration-broken` for a text that cannot be read, and `conflict` where only a person can do it: at
 * anchors, and wherever the result would not read as asked or would lose a comment.
 */
export function applyEdit(original: string, edit: Edit): string {
  const bare = withoutMark(original);
  const mark = original.slice(0, original.length - bare.length);
  // What is added behind the last line needs that line to end.
  const text = bare === '' || bare.endsWith('\n') ? bare : `${bare}${lineBreakOf(bare)}`;
  const before = read(text);
  if (before === undefined) throw new AppError('configuration-broken', 'The file cannot be read as YAML');
  const after = expected(before, edit);
  if (isDeepStrictEqual(before, after)) return original;

  const { root, comments } = outline(text);
  const task: Task = { edit, sheet: { text, comments }, root, before, after };
  for (const attempt of edit.section === 'settings' ? [changeSettings] : [changeSection, rewriteInSection]) {
    const changed = attempt(task);
    const result = changed === undefined || text === bare ? changed : changed.replace(/\r?\n$/, '');
    if (result !== undefined && isAsAsked(task, result)) return `${mark}${result}`;
  }
  throw byHand(edit, 'stands in the file in a form that cannot be changed here');
}

const byHand = ({ section, id }: Edit, reason: string): AppError =>
  new AppError(
    'conflict',
    `${section === 'settings' ? 'This setting' : `'${id}' of ${section}`} ${reason}; edit the file by hand`,
  );

/** The map a text holds; undefined when it holds something else or has problems. */
function read(text: string): PlainMap | undefined {
  const { document, problems } = readYaml(text);
  const value = document?.value ?? {};
  return document !== undefined && problems.length === 0 && isMap(value) ? value : undefined;
}

/** What the file shall hold. */
function expected(before: PlainMap, { section, id, value }: Edit): PlainMap {
  const item = value === undefined ? undefined : plainCopy(value);
  if (section === 'settings') return item ?? {};
  const items = before[section];
  if (isMap(items)) {
    const { [id]: present, ...others } = items;
    if (item === undefined) return { ...before, [section]: others };
    const { id: _, ...content } = item;
    const keepsId = isMap(present) && Object.hasOwn(present, 'id');
    return { ...before, [section]: { ...others, [id]: keepsId ? { id, ...content } : content } };
  }
  const list: readonly unknown[] = Array.isArray(items) ? items : [];
  const isIt = (one: unknown): boolean => isMap(one) && one.id === id;
  if (item === undefined)
    return list.some(isIt) ? { ...before, [section]: list.filter(one => !isIt(one)) } : before;
  const whole = { id, ...item };
  if (!list.some(isIt)) return { ...before, [section]: [...list, whole] };
  return { ...before, [section]: list.map(one => (isIt(one) ? whole : one)) };
}

function changeSettings({ edit, sheet, root, before, after }: Task): string | undefined {
  if (root === undefined) {
    const lines = Object.entries(after).map(([key, value]) => `${entryText(key, value, 0)}\n`);
    return appended(sheet.text, lines.join(''));
  }
  for (const { key = '', anchored } of root.entries)
    if (anchored && !isDeepStrictEqual(before[key], after[key])) throw byHand(edit, 'has an anchor or alias');
  return attempted(sheet.text, changeValue(sheet, root, before, after, root.flow));
}

function changeSection(task: Task): string | undefined {
  const { edit, sheet, root, before, after } = task;
  const { section, id } = edit;
  const found = sectionOf(task);
  if (root === undefined || found === undefined) return addSection(task);
  const place = findItem(found, before[section], id);
  if (found.kind === 'alias' || place?.span.anchored === true) throw byHand(edit, 'has an anchor or alias');
  if (place !== undefined) {
    const value = itemIn(after[section], id);
    const splices = value === undefined ? removeItem(sheet, place) : changeItem(sheet, place, value);
    return attempted(sheet.text, splices);
  }
  const value = itemIn(after[section], id);
  if (value === undefined) return undefined;
  if (root.flow && found.kind !== 'list' && found.kind !== 'map')
    return attempted(sheet.text, changeValue(sheet, found, before[section], after[section], true));
  return attempted(sheet.text, addItem(sheet, opened(found, root, sheet), id, value));
}

const sectionOf = ({ root, edit }: Task): Span | undefined =>
  root?.entries.find(({ key }) => key === edit.section);

function itemIn(items: unknown, id: string): PlainMap | undefined {
  const item = Array.isArray(items)
    ? items.find(one => isMap(one) && one.id === id)
    : isMap(items)
      ? items[id]
      : undefined;
  return isMap(item) ? item : undefined;
}

function addSection({ edit: { section }, sheet, root, after }: Task): string | undefined {
  const { text, comments } = sheet;
  if (root?.flow !== true) return appended(text, `${entryText(section, after[section], 0)}\n`);
  const entry = flowEntry(section, after[section], flowFormOf(sheet, root));
  const last = root.entries.at(-1);
  return attempted(
    text,
    last === undefined ? [refill(sheet, root, [entry], comments)] : addInFlow(sheet, root, last, [entry]),
  );
}

const appended = (text: string, lines: string): string | undefined =>
  spliced(text, [{ start: text.length, end: text.length, text: lines }]);

/** The second attempt: the item is written anew, its comments above it. */
function rewriteInSection(task: Task): string | undefined {
  const { edit, sheet, before, after } = task;
  const place = findItem(sectionOf(task), before[edit.section], edit.id);
  const value = itemIn(after[edit.section], edit.id);
  if (place === undefined || value === undefined) return undefined;
  return attempted(sheet.text, rewriteItem(sheet, place, value));
}

const attempted = (text: string, splices: readonly Splice[] | undefined): string | undefined =>
  splices === undefined ? undefined : spliced(text, splices);

/** Whatever went wrong on the way: only a text that reads as asked and has every comment is written. */
function isAsAsked(task: Task, result: string): boolean {
  if (!isDeepStrictEqual(read(result), task.after)) return false;
  const kept = textsOf(result, outline(result));
  return stayingComments(task).every(comment => {
    const count = kept.get(comment) ?? 0;
    kept.set(comment, count - 1);
    return count > 0;
  });
}

function stayingComments(task: Task): string[] {
  const { edit, sheet, before } = task;
  const place = findItem(sectionOf(task), before[edit.section], edit.id);
  const gone = edit.value === undefined && place !== undefined ? commentsOf(sheet, place) : [];
  return sheet.comments
    .filter(comment => !gone.includes(comment))
    .map(({ start, end }) => sheet.text.slice(start, end));
}

function textsOf(text: string, { comments }: Outline): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { start, end } of comments) {
    const comment = text.slice(start, end);
    counts.set(comment, (counts.get(comment) ?? 0) + 1);
  }
  return counts;
}
