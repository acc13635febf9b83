import { join } from 'node:path';
import { asFileText, readFileText, withoutByteOrderMark } from '../file-text.ts';
import type { PlainMap } from '../plain.ts';
import { type Finding, FindingList, finding, formatPath, quote } from '../problems.ts';
import { fileOrigin, unknownKeyText } from '../schema-problems.ts';
import { childOf } from '../schema-walk.ts';
import { readYaml, type YamlProblem } from './parse.ts';
import { createTextPositions, type Path, type TextPositions } from './places.ts';

/** A file of the configuration as it was found. */
export interface ConfigDocument {
  readonly file: string;
  /** As it was read; undefined for a file that is missing or cannot be read. */
  readonly text: string | undefined;
  /** A map; empty for a file that is missing or holds comments only. Without what `shared` has. */
  readonly value: object;
  /** The entries at the top whose keys begin with `x-`: places for what aliases of the file stand for, and nothing else. */
  readonly shared: PlainMap;
  readonly places: TextPositions;
  readonly problems: readonly Finding[];
  /** False when nothing can be said about what the file holds. */
  readonly readable: boolean;
}

/** Reads one file of the folder, or a text that counts in its place. A file that is missing counts as empty. */
export function readConfigDocument(folder: string, name: string, given?: string): ConfigDocument {
  const file = join(folder, name);
  const nowhere = createTextPositions('');
  const unreadable = (problems: readonly YamlProblem[], text?: string): ConfigDocument => ({
    file,
    text,
    value: {},
    shared: {},
    places: nowhere,
    problems: findingsOf(problems, file),
    readable: false,
  });

  const read = given === undefined ? readFileText(file) : asFileText(given);
  if (read.kind === 'missing')
    return { file, text: undefined, value: {}, shared: {}, places: nowhere, problems: [], readable: true };
  if (read.kind === 'unreadable') return unreadable([{ line: read.line, column: 1, message: read.message }]);
  const { document, problems } = readYaml(withoutByteOrderMark(read.text));
  if (document === undefined) return unreadable(problems, read.text);
  const { value, places } = document;
  const content = value ?? {};
  if (typeof content !== 'object' || Array.isArray(content))
    return unreadable(
      [{ ...places.of([]), message: `must be a map of settings, not ${quote(content)}` }],
      read.text,
    );
  return {
    file,
    text: read.text,
    ...apart(content),
    places,
    problems: findingsOf(problems, file),
    readable: true,
  };
}

/** What of a file counts by itself, and what is there to be shared by aliases. */
export function apart(content: object): Pick<ConfigDocument, 'value' | 'shared'> {
  if (!Object.keys(content).some(isSharedKey)) return { value: content, shared: {} };
  const entries = Object.entries(content);
  return {
    value: Object.fromEntries(entries.filter(([key]) => !isSharedKey(key))),
    shared: Object.fromEntries(entries.filter(([key]) => isSharedKey(key))),
  };
}

const isSharedKey = (key: string): boolean => key.startsWith('x-');

const findingsOf = (problems: readonly YamlProblem[], file: string): Finding[] =>
  problems.map(({ line, column, message }) => finding(() => ({ file, path: '', line, column }), message));

/** An item of a list, or of a map by id, its `id` always among its keys when there is one. */
export interface ConfigItem {
  readonly path: Path;
  readonly value: object;
  /** Undefined when it has none that is a text. */
  readonly id: string | undefined;
}

export interface ConfigItems {
  /** False when the section is neither list nor map, so that nothing can be said about its ids. */
  readonly readable: boolean;
  readonly items: readonly ConfigItem[];
  readonly problems: FindingList;
}

/** Reads a section that is a list of items with `id`, or a map of items by id. */
export function readItems(document: ConfigDocument, section: string): ConfigItems {
  const value = childOf(document.value, section) ?? [];
  const origin = fileOrigin({ ...document, base: [] });
  const problems = new FindingList();
  const report = (path: Path, message: () => string): void =>
    problems.add(finding(() => origin.place(path), message));
  if (typeof value !== 'object') {
    report([section], () => `must be a list of items, or a map of them by id, not ${quote(value)}`);
    return { readable: false, items: [], problems };
  }
  const isList = Array.isArray(value);
  const items: ConfigItem[] = [];
  const seen = new Map<string, ConfigItem>();

  for (const key in value) {
    const content = childOf(value, key);
    const path = [section, isList ? Number(key) : key];
    if (typeof content !== 'object' || content === null || Array.isArray(content)) {
      report(path, () => notAnItem(content));
      continue;
    }
    const item = isList ? listItem(path, content) : mapItem(path, key, content);
    if (!isList && item.id !== key)
      report([...path, 'id'], () => `'id' must be left out or equal its key '${key}'`);
    const first = item.id === undefined ? undefined : seen.get(item.id);
    if (first !== undefined && item.id !== undefined)
      report(
        [...path, 'id'],
        () =>
          `the id '${item.id}' is already that of ${formatPath(first.path)}, line ${origin.place(first.path).line}; ids are unique`,
      );
    else if (item.id !== undefined) seen.set(item.id, item);
    items.push(item);
  }
  return { readable: document.readable, items, problems };
}

function notAnItem(content: unknown): string {
  if (content === null) return 'this item is empty; write its settings or remove it';
  return `must be a map of settings, not ${quote(content)}`;
}

function listItem(path: Path, value: object): ConfigItem {
  const id = childOf(value, 'id');
  return { path, value, id: typeof id === 'string' ? id : undefined };
}

function mapItem(path: Path, key: string, value: object): ConfigItem {
  const id = childOf(value, 'id') ?? key;
  return { path, value: { id: key, ...value }, id: typeof id === 'string' ? id : undefined };
}

/** Top keys of a file that are none of its sections. */
export function unknownSections(document: ConfigDocument, sections: readonly string[]): FindingList {
  const found = new FindingList();
  for (const key in document.value)
    if (!sections.includes(key))
      found.add(
        finding(
          () => ({ file: document.file, path: formatPath([key]), ...document.places.ofKey([key]) }),
          () => unknownKeyText(key, sections),
        ),
      );
  return found;
}
