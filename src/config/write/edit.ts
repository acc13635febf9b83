import { isDeepStrictEqual } from 'node:util';
import { AppError } from '../../lib/errors.ts';
import type { ConfigEdit, ConfigSection } from '../change.ts';
import {
  FILES,
  type FileName,
  type FileTexts,
  INPUTS_FILE,
  NOTIFICATIONS_FILE,
  OUTPUTS_FILE,
  SETTINGS_FILE,
} from '../configuration.ts';
import { withoutByteOrderMark } from '../file-text.ts';
import { isMap, type PlainMap, plainCopy } from '../plain.ts';
import {
  addInFlow,
  addItem,
  type CommentedText,
  changeItem,
  changeValue,
  commentsOf,
  findItem,
  flowFormOf,
  type ItemPlace,
  opened,
  refill,
  removeItem,
  rewriteItem,
  type Splice,
  spliced,
} from '../yaml/change.ts';
import { apart } from '../yaml/document.ts';
import { readYaml } from '../yaml/parse.ts';
import { entryText, flowEntry } from '../yaml/render.ts';
import { lineBreakOf, type Outline, outline, type TextSpan } from '../yaml/spans.ts';

/** A file before a change, and its content after. */
interface EditTask {
  readonly edit: ConfigEdit;
  readonly sheet: CommentedText;
  readonly root: TextSpan | undefined;
  readonly before: PlainMap;
  readonly after: PlainMap;
}

/**
 * The text with one item changed, added or removed, and everything else as it is: comments, order, styles, line
 * breaks. Comments within a removed item go with it. Pure.
 * Throws `configuration-broken` for a text that cannot be read, and `conflict` where only a person can do it: at
 * anchors, and wherever the result would not read as asked or would lose a comment.
 */
export function applyEdit(original: string, edit: ConfigEdit): string {
  const bare = withoutByteOrderMark(original);
  const byteOrderMark = original.slice(0, original.length - bare.length);
  // What is added behind the last line needs that line to end.
  const text = bare === '' || bare.endsWith('\n') ? bare : `${bare}${lineBreakOf(bare)}`;
  const before = read(text);
  if (before === undefined) throw new AppError('configuration-broken', 'The file cannot be read as YAML');
  const after = expected(before, edit);
  if (isDeepStrictEqual(before, after)) return original;

  const { root, comments } = outline(text);
  const task: EditTask = { edit, sheet: { text, comments }, root, before, after };
  for (const attempt of edit.section === 'settings' ? [changeSettings] : [changeSection, rewriteInSection]) {
    const changed = attempt(task);
    const result = changed === undefined || text === bare ? changed : changed.replace(/\r?\n$/, '');
    if (result !== undefined && isAsAsked(task, result)) return `${byteOrderMark}${result}`;
  }
  throw manualEditError(edit, 'stands in the file in a form that cannot be changed here');
}

const manualEditError = ({ section, id }: ConfigEdit, reason: string): AppError =>
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

/** The content the file should have. */
function expected(before: PlainMap, { section, id, value }: ConfigEdit): PlainMap {
  const item = value === undefined ? undefined : plainCopy(value);
  if (section === 'settings') return { ...apart(before).shared, ...item };
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

function changeSettings({ edit, sheet, root, before, after }: EditTask): string | undefined {
  if (root === undefined) {
    const lines = Object.entries(after).map(([key, value]) => `${entryText(key, value, 0)}\n`);
    return appended(sheet.text, lines.join(''));
  }
  for (const { key = '', anchored } of root.entries)
    if (anchored && !isDeepStrictEqual(before[key], after[key]))
      throw manualEditError(edit, 'has an anchor or alias');
  return applySplices(sheet.text, changeValue(sheet, root, before, after, root.flow));
}

function changeSection(task: EditTask): string | undefined {
  const { edit, sheet, root, before, after } = task;
  const { section, id } = edit;
  const found = sectionOf(task);
  if (root === undefined || found === undefined) return addSection(task);
  const place = findItem(found, before[section], id);
  if (found.kind === 'alias' || (place !== undefined && isShared(place, itemIn(after[section], id))))
    throw manualEditError(edit, 'has an anchor or alias');
  if (place !== undefined) {
    const value = itemIn(after[section], id);
    const splices = value === undefined ? removeItem(sheet, place) : changeItem(sheet, place, value);
    return applySplices(sheet.text, splices);
  }
  const value = itemIn(after[section], id);
  if (value === undefined) return undefined;
  if (root.flow && found.kind !== 'list' && found.kind !== 'map')
    return applySplices(sheet.text, changeValue(sheet, found, before[section], after[section], true));
  return applySplices(sheet.text, addItem(sheet, opened(found, root, sheet), id, value));
}

/** True when what changes has an anchor or is an alias; an alias may stand beside it. */
function isShared({ span, value: before }: ItemPlace, after: PlainMap | undefined): boolean {
  if (!span.anchored) return false;
  if (span.kind !== 'map' || span.named || !isMap(before)) return true;
  if (after === undefined) return span.entries.some(holdsAnchor);
  return span.entries.some(
    ({ key = '', anchored }) => anchored && !isDeepStrictEqual(before[key], after[key]),
  );
}

const holdsAnchor = ({ named, entries }: TextSpan): boolean => named || entries.some(holdsAnchor);

const sectionOf = ({ root, edit }: EditTask): TextSpan | undefined =>
  root?.entries.find(({ key }) => key === edit.section);

function itemIn(items: unknown, id: string): PlainMap | undefined {
  const item = Array.isArray(items)
    ? items.find(one => isMap(one) && one.id === id)
    : isMap(items)
      ? items[id]
      : undefined;
  return isMap(item) ? item : undefined;
}

function addSection({ edit: { section }, sheet, root, after }: EditTask): string | undefined {
  const { text, comments } = sheet;
  if (root?.flow !== true) return appended(text, `${entryText(section, after[section], 0)}\n`);
  const entry = flowEntry(section, after[section], flowFormOf(sheet, root));
  const last = root.entries.at(-1);
  return applySplices(
    text,
    last === undefined ? [refill(sheet, root, [entry], comments)] : addInFlow(sheet, root, last, [entry]),
  );
}

const appended = (text: string, lines: string): string | undefined =>
  spliced(text, [{ start: text.length, end: text.length, text: lines }]);

/** The second attempt: the item is written anew, its comments above it. */
function rewriteInSection(task: EditTask): string | undefined {
  const { edit, sheet, before, after } = task;
  const place = findItem(sectionOf(task), before[edit.section], edit.id);
  const value = itemIn(after[edit.section], edit.id);
  if (place === undefined || value === undefined || place.span.anchored) return undefined;
  return applySplices(sheet.text, rewriteItem(sheet, place, value));
}

const applySplices = (text: string, splices: readonly Splice[] | undefined): string | undefined =>
  splices === undefined ? undefined : spliced(text, splices);

/** A last check: only a text that reads as requested and has every comment is written. */
function isAsAsked(task: EditTask, result: string): boolean {
  const { edit, before } = task;
  const place = findItem(sectionOf(task), before[edit.section], edit.id);
  return readsAs(task, result, edit.value === undefined && place !== undefined ? [place] : []);
}

/** True when a text reads as the task wants it and has every comment but those of removed items. */
function readsAs(
  { sheet, after }: Pick<EditTask, 'sheet' | 'after'>,
  result: string,
  removed: readonly ItemPlace[],
): boolean {
  if (!isDeepStrictEqual(read(result), after)) return false;
  const kept = textsOf(result, outline(result));
  const gone = new Set(removed.flatMap(place => commentsOf(sheet, place)));
  return sheet.comments
    .filter(comment => !gone.has(comment))
    .every(({ start, end }) => {
      const comment = sheet.text.slice(start, end);
      const count = kept.get(comment) ?? 0;
      kept.set(comment, count - 1);
      return count > 0;
    });
}

/** The text with all edits of one file in it, as `applyEdit` makes them one after the other. Throws as it does. */
export function applyEdits(original: string, edits: readonly ConfigEdit[]): string {
  const batches = grouped(edits, ({ section, value }) => `${section} ${value === undefined}`);
  return [...batches.values()].reduce(applyBatch, original);
}

function grouped<Key>(
  edits: readonly ConfigEdit[],
  keyOf: (edit: ConfigEdit) => Key,
): ReadonlyMap<Key, readonly ConfigEdit[]> {
  const groups = new Map<Key, ConfigEdit[]>();
  for (const edit of edits) {
    const key = keyOf(edit);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [edit]);
    else group.push(edit);
  }
  return groups;
}

/** Reads the text once for all of them where that is possible, as to read it anew for each takes long for many. */
function applyBatch(original: string, edits: readonly ConfigEdit[]): string {
  const [first, ...others] = edits;
  if (first === undefined) return original;
  if (others.length === 0) return applyEdit(original, first);
  const together = applyTogether(original, edits);
  if (together !== undefined) return together;
  // The first item of a section needs more than one behind another: those after it may go together again.
  const begun = applyEdit(original, first);
  return applyTogether(begun, others) ?? others.reduce(applyEdit, begun);
}

/** Undefined where they must be made one by one. */
function applyTogether(text: string, edits: readonly ConfigEdit[]): string | undefined {
  const [first] = edits;
  const isPlain = text.endsWith('\n') && withoutByteOrderMark(text) === text;
  const before = isPlain ? read(text) : undefined;
  if (first === undefined || before === undefined) return undefined;
  const { root, comments } = outline(text);
  const { section } = first;
  const after = { ...before, [section]: itemsAfter(before[section], edits) };
  const sheet: CommentedText = { text, comments };
  const found = sectionOf({ edit: first, sheet, root, before, after });
  if (root === undefined || found === undefined || root.flow || found.flow) return undefined;
  if ((found.kind !== 'list' && found.kind !== 'map') || found.anchored || found.entries.length === 0)
    return undefined;
  const placeOf = placesIn(found, before[section]);
  const removed: ItemPlace[] = [];
  const splices: Splice[] = [];
  const added: Splice[] = [];
  for (const { id, value } of edits) {
    const place = placeOf(id);
    const item = value === undefined ? undefined : itemIn(after[section], id);
    if (place !== undefined && holdsAnchor(place.span)) return undefined;
    if (item === undefined && place !== undefined) removed.push(place);
    else if (item !== undefined && place !== undefined) splices.push(...changeItem(sheet, place, item));
    else if (item !== undefined) added.push(...addItem(sheet, found, id, item));
  }
  // A section that ends empty needs brackets.
  if (removed.length === found.entries.length) return undefined;
  const taken = removed.flatMap(place => removeItem(sheet, place));
  const result = applySplices(text, [...splices, ...taken, ...added]);
  return result !== undefined && readsAs({ sheet, after }, result, removed) ? result : undefined;
}

function placesIn(section: TextSpan, items: unknown): (id: string) => ItemPlace | undefined {
  const indexes = new Map(
    section.entries.map((span, index) => {
      const item: unknown = Array.isArray(items) ? items[index] : undefined;
      return [Array.isArray(items) ? (isMap(item) ? item.id : undefined) : span.key, index];
    }),
  );
  return id => {
    const index = indexes.get(id);
    const span = section.entries[index ?? -1];
    if (index === undefined || span === undefined) return undefined;
    const value: unknown = Array.isArray(items) ? items[index] : isMap(items) ? items[id] : null;
    return { section, index, span, value };
  };
}

/** A section as all edits of it leave it. */
function itemsAfter(items: unknown, edits: readonly ConfigEdit[]): unknown {
  const byId = new Map(
    edits.map(({ id, value }) => [id, value === undefined ? undefined : plainCopy(value)]),
  );
  if (isMap(items)) {
    const kept = Object.entries(items).filter(([id]) => !byId.has(id) || byId.get(id) !== undefined);
    const contents = [...byId].flatMap(([id, item]): [string, unknown][] => {
      if (item === undefined) return [];
      const { id: _, ...content } = item;
      const present = items[id];
      const keepsId = isMap(present) && Object.hasOwn(present, 'id');
      return [[id, keepsId ? { id, ...content } : content]];
    });
    return { ...Object.fromEntries(kept), ...Object.fromEntries(contents) };
  }
  const list: readonly unknown[] = Array.isArray(items) ? items : [];
  const present = new Set(list.map(item => (isMap(item) ? item.id : undefined)));
  const whole = (id: string, item: PlainMap): PlainMap => ({ id, ...item });
  const kept = list.flatMap(one => {
    const id = isMap(one) && typeof one.id === 'string' ? one.id : undefined;
    if (id === undefined || !byId.has(id)) return [one];
    const item = byId.get(id);
    return item === undefined ? [] : [whole(id, item)];
  });
  const added = [...byId].flatMap(([id, item]) =>
    item === undefined || present.has(id) ? [] : [whole(id, item)],
  );
  return [...kept, ...added];
}

function textsOf(text: string, { comments }: Outline): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { start, end } of comments) {
    const comment = text.slice(start, end);
    counts.set(comment, (counts.get(comment) ?? 0) + 1);
  }
  return counts;
}

export const FILE_OF: Readonly<Record<ConfigSection, FileName>> = {
  settings: SETTINGS_FILE,
  targets: NOTIFICATIONS_FILE,
  notifications: NOTIFICATIONS_FILE,
  inhibitions: NOTIFICATIONS_FILE,
  inputs: INPUTS_FILE,
  outputs: OUTPUTS_FILE,
};

/** A change as data. */
export interface ChangeInput {
  /** The active files. */
  readonly now: FileTexts;
  readonly edits: readonly ConfigEdit[];
  /** New texts of whole files. */
  readonly texts: FileTexts;
}

/** The files that a change changes. Throws `conflict` where only a person can edit. */
export function changedTexts({ now, edits, texts }: ChangeInput): FileTexts {
  const wanted: Partial<Record<FileName, string>> = { ...texts };
  for (const [name, own] of grouped(edits, ({ section }) => FILE_OF[section]))
    wanted[name] = applyEdits(wanted[name] ?? now[name] ?? '', own);
  const changed: Partial<Record<FileName, string>> = {};
  for (const name of FILES) {
    const text = wanted[name];
    if (text !== undefined && text !== (now[name] ?? '')) changed[name] = text;
  }
  return changed;
}
