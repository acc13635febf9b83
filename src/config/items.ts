import type { ConfigDocument } from './document.ts';
import { originIn } from './origin.ts';
import { type ConfigProblem, formatPath } from './problems.ts';
import { quote } from './quote.ts';
import { childOf } from './schema-walk.ts';
import type { Path } from './yaml-places.ts';

/** An item of a list, or of a map by id, its `id` always among its keys when there is one. */
export interface Item {
  readonly path: Path;
  readonly value: object;
  /** Undefined when it has none that is a text. */
  readonly id: string | undefined;
}

export interface Items {
  /** False when the section is neither list nor map, so that nothing can be said about its ids. */
  readonly readable: boolean;
  readonly items: readonly Item[];
  readonly problems: readonly ConfigProblem[];
}

/** Reads a section that is a list of items with `id`, or a map of items by id. */
export function readItems(document: ConfigDocument, section: string): Items {
  const value = childOf(document.value, section) ?? [];
  const origin = originIn({ ...document, base: [] });
  if (typeof value !== 'object')
    return {
      readable: false,
      items: [],
      problems: [
        {
          ...origin.place([section]),
          message: `must be a list of items, or a map of them by id, not ${quote(value)}`,
        },
      ],
    };
  const isList = Array.isArray(value);
  const items: Item[] = [];
  const problems: ConfigProblem[] = [];
  const seen = new Map<string, Item>();

  for (const [key, content] of Object.entries(value)) {
    const path = [section, isList ? Number(key) : key];
    if (typeof content !== 'object' || content === null || Array.isArray(content)) {
      problems.push({ ...origin.place(path), message: notAnItem(content) });
      continue;
    }
    const item = isList ? listItem(path, content) : mapItem(path, key, content);
    if (!isList && item.id !== key)
      problems.push({
        ...origin.place([...path, 'id']),
        message: `'id' must be left out or equal its key '${key}'`,
      });
    const first = item.id === undefined ? undefined : seen.get(item.id);
    if (first !== undefined && item.id !== undefined)
      problems.push({
        ...origin.place([...path, 'id']),
        message: `the id '${item.id}' is already that of ${formatPath(first.path)}, line ${origin.place(first.path).line}; ids are unique`,
      });
    else if (item.id !== undefined) seen.set(item.id, item);
    items.push(item);
  }
  return { readable: document.readable, items, problems };
}

function notAnItem(content: unknown): string {
  if (content === null) return 'this item is empty; write its settings or remove it';
  return `must be a map of settings, not ${quote(content)}`;
}

function listItem(path: Path, value: object): Item {
  const id = childOf(value, 'id');
  return { path, value, id: typeof id === 'string' ? id : undefined };
}

function mapItem(path: Path, key: string, value: object): Item {
  const id = childOf(value, 'id') ?? key;
  return { path, value: { id: key, ...value }, id: typeof id === 'string' ? id : undefined };
}
