import type { Operation } from '../src/api/operation.ts';
import { API_PREFIX, operations, servedRoutes } from '../src/api/v1/index.ts';
import { code, table } from './markdown.ts';

const START = '<!-- npm run generate writes this table; its rows are in src/api. -->';
const END = '<!-- The table ends here. -->';

/** The part of a path that stands for the same operation in one group. */
const GROUP = '/m/:group';
/** How it is written in front of a path that is there with it and without. */
const IN_GROUP = '[/m/{group}]';

/** Every list takes these; the page says so once. */
const PAGING = new Set(['offset', 'limit']);

/** The page as it should be: `text` is what it says now, of which all is kept but the table between its marks. */
export function apiPage(text: string): string {
  const [before, rest] = halves(text, START);
  const [, after] = halves(rest, END);
  return `${before}${START}\n\n${pathTable()}\n\n${END}${after}`;
}

function halves(text: string, mark: string): [string, string] {
  const at = text.indexOf(mark);
  if (at < 0) throw new Error(`docs/reference/api.md lacks the line ${mark}`);
  return [text.slice(0, at), text.slice(at + mark.length)];
}

function pathTable(): string {
  const grouped = new Set(servedRoutes.flatMap(({ id, path }) => (path.startsWith(GROUP) ? [id] : [])));
  const rows = operations
    .filter(({ id }) => !grouped.has(id))
    .map(operation => rowOf(operation, grouped.has(`${operation.id}InGroup`)));
  return table(['Method', 'Path', 'Permission', 'Operation', 'What it does'], rows);
}

function rowOf(operation: Operation, isGrouped: boolean): string[] {
  const { id, method, path, access } = operation;
  const base = access === 'pipeline' ? '' : `${API_PREFIX}${isGrouped ? IN_GROUP : ''}`;
  return [
    method,
    code(`${base}${path.replace(/:(\w+)/g, '{$1}')}`),
    accessText(access),
    code(id),
    meaningText(operation),
  ];
}

function accessText(access: Operation['access']): string {
  if (access === 'public') return 'none';
  if (access === 'pipeline') return 'ingest token';
  return access === 'any actor' ? 'any token' : code(access);
}

function meaningText({ summary, description, query }: Operation): string {
  const names = Object.keys(query).filter(name => !PAGING.has(name));
  const asked = names.length === 0 ? [] : [`Query: ${names.map(code).join(', ')}.`];
  return [`${summary}.`, ...(description === undefined ? [] : [description]), ...asked].join(' ');
}
