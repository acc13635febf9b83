import { existsSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import {
  folderCycles,
  longFunctions,
  readSources,
  sharedTypeNames,
  singleImporterFiles,
} from '../scripts/figures.ts';
import { readText } from './helpers/markdown.ts';

const floors: readonly (readonly string[])[] = createRequire(import.meta.url)('../scripts/floors.cjs');

const MOST_LINES = 600;
const MOST_IMPORTS = 15;
const MOST_SINGLE_IMPORTERS = 200;

const filesBelow = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath, entry.name));

const linesOf = (path: string): string[] => readText(path).trimEnd().split('\n');

const written = ['src', 'test', 'scripts', 'bench']
  .flatMap(filesBelow)
  .filter(path => /\.(ts|cjs|js|css|html)$/.test(path));
const sources = readSources();
const source = sources.map(({ path }) => path);
const markdown = [
  ...readdirSync('.').filter(name => name.endsWith('.md')),
  ...['docs', 'client', 'ui'].flatMap(filesBelow).filter(path => path.endsWith('.md')),
];

test('the tests see the source and the documents', () => {
  expect(source.length).toBeGreaterThan(100);
  expect(markdown).toContain('README.md');
  expect(markdown).toContain('docs/glossary.md');
});

test('ARCHITECTURE.md shows the floors that are enforced', () => {
  const shown = [...readText('ARCHITECTURE.md').matchAll(/^ *(\d+) {2}([a-z][a-z ]*)$/gm)].map(
    ([, number, rooms = '']) => ({ number: Number(number), rooms: rooms.trim().split(/ +/) }),
  );
  const enforced = floors.map((rooms, number) => ({ number, rooms }));
  expect(shown).toEqual(enforced.reverse());
});

test('every folder of src is a room on a floor', () => {
  const rooms = readdirSync('src', { withFileTypes: true }).filter(entry => entry.isDirectory());
  expect(rooms.map(({ name }) => name).sort()).toEqual(floors.flat().sort());
});

test('only the clock asks for the time and sets timers', () => {
  const asks = /\bDate\.now\(\)|\bnew Date\(\s*\)|\bset(Timeout|Interval)\(/;
  const guilty = source.filter(path => asks.test(readText(path)));
  expect(guilty).toEqual(['src/lib/clock.ts']);
});

test('what connects to others does so by the one dial, which judges addresses and races them', () => {
  const opens =
    /\bfetch\(|import \{[^}]*\b(connect|createConnection|request|get)\b[^}]*\} from 'node:(net|tls|https?|http2)'|\bbuildConnector\(|\bnew (\w*Agent|Client|Pool)\(/;
  // The driver of the database connects by itself.
  const guilty = source.filter(path => !path.startsWith('src/storage/') && opens.test(readText(path)));
  expect(guilty.sort()).toEqual([
    // TLS on a connection of the dial.
    'src/lib/dial.ts',
    // Agents over connections of the dial.
    'src/lib/http/agents.ts',
    'src/lib/http/connect.ts',
    'src/lib/http/forward.ts',
    'src/lib/http/tunnel.ts',
  ]);
  const agents = guilty.filter(path => /\bnew (\w*Agent|Client|Pool)\(/.test(readText(path)));
  for (const path of agents) expect(readText(path), path).toMatch(/\bconnect(:|,)/);
});

test('files are whole, and say on their first line why they have more than 600 lines', () => {
  const isExcused = (path: string): boolean => /^(\/\/|\/\*|<!--).*\bbecause\b/.test(linesOf(path)[0] ?? '');
  expect(written.filter(path => linesOf(path).length > MOST_LINES && !isExcused(path))).toEqual([]);
});

test('a function fits a screen', () => {
  expect(longFunctions(sources).map(({ path, name, lines }) => `${path}: ${name} (${lines} lines)`)).toEqual(
    [],
  );
});

/** The faces of rooms and their registries, which bring a whole room together, and what opens the storage. */
const FACES: readonly string[] = [
  'src/api/login-service/server.ts',
  'src/api/server.ts',
  'src/auth/identity.ts',
  'src/cli/root.ts',
  'src/notifications/engine.ts',
  'src/pipelines/monitor.ts',
  'src/resources/context.ts',
  'src/storage/open.ts',
  'src/storage/storage.ts',
  'src/targets/webhook/presets/index.ts',
];

/** Where several rooms meet in one thing: as many imports at most, and never more. */
const CROSSINGS: Readonly<Record<string, number>> = {
  'src/api/login-service/user-routes.ts': 16,
  'src/auth/organizations/workspace-access.ts': 16,
  'src/auth/sso/single-sign-on.ts': 17,
  'src/config/write/edit.ts': 16,
  'src/notifications/grouping/groups.ts': 16,
  'src/notifications/incidents/incidents.ts': 17,
  'src/notifications/rules/external.ts': 18,
  'src/storage/postgres/postgres.ts': 16,
};

test('a file needs few others: 15 imports, where it does not bring a room together', () => {
  const composes = (path: string): boolean =>
    path.startsWith('src/app/') ||
    path.endsWith('/index.ts') ||
    path === 'src/main.ts' ||
    FACES.includes(path);
  const crowded = sources
    .filter(({ path, modules }) => modules.length > (CROSSINGS[path] ?? MOST_IMPORTS) && !composes(path))
    .map(({ path, modules }) => `${path}: ${modules.length}`);
  expect(crowded).toEqual([]);
});

test('what only makes sense together stands together: few files have a single importer', () => {
  expect(singleImporterFiles(sources).length).toBeLessThanOrEqual(MOST_SINGLE_IMPORTERS);
});

test('folders of a room import one another in one direction only', () => {
  expect(folderCycles(sources)).toEqual([]);
});

const NAMES_IN_MANY_FILES = ['Options', 'Dependencies'];

test('the name of an exported type stands for one thing', () => {
  const isLocal = (path: string): boolean => /^src\/(?:storage|targets)\/[^/]+\//.test(path);
  const shared = [...sharedTypeNames(sources)]
    .map(([name, paths]) => [name, paths.filter(path => !isLocal(path))] as const)
    .filter(([name, paths]) => paths.length > 1 && !NAMES_IN_MANY_FILES.includes(name))
    .map(([name, paths]) => `${name}: ${paths.join(', ')}`);
  expect(shared).toEqual([]);
});

/** Where a name or a text is of others, who say in no other way what they mean. */
const RECOGNISED_BY_TEXT: Readonly<Record<string, string>> = {
  'src/expressions/syntax.ts': 'V8 says by its text alone that an expression is nested too deep',
  'src/lib/problem-list.ts': 'zod says by its text alone that a value is missing',
  'src/config/schema-problems.ts': 'zod begins its own texts with a capital letter, and ours have none',
};

/** The end of a name in camel case, as in `/Path$/`, `endsWith('Url')`. */
const PART_OF_A_NAME = [
  /\.(?:endsWith|startsWith|includes)\(\s*(['"`])[A-Z][a-z]+[A-Za-z]*\1/,
  /[A-Z][a-z]+\)*\$\/[a-z]*\.(?:test|exec)\(/,
  /\/\^?\(?[^/\n]*(?:Path|Url|Uri|Secret|Token|Password|Key|File|Folder)\)*\$\//,
];
/** Words with a blank between, or a pattern over what is called a message. */
const PART_OF_A_TEXT = [
  /\.(?:endsWith|startsWith|includes)\(\s*(['"`])[^'"`\n]*\w \w[^'"`\n]*\1/,
  /\.(?:test|exec)\(\s*(?:\w+\.)*(?:message|last_error|_raw)\s*\)/,
  /\b(?:message|last_error|_raw)\.(?:match|includes|startsWith|endsWith)\(/,
];

test('no setting is recognised by a part of its name, and no stored text by its words', () => {
  const recognises = (path: string): boolean =>
    [...PART_OF_A_NAME, ...PART_OF_A_TEXT].some(pattern => pattern.test(readText(path)));
  expect(source.filter(recognises).sort()).toEqual(Object.keys(RECOGNISED_BY_TEXT).sort());
});

test.each([
  'if (/Path$/.test(name)) return;',
  "names.filter(name => name.endsWith('Url'))",
  "setting.includes('Secret')",
  "row.last_error.startsWith('Target x gave up')",
  "if (text.startsWith('Target x')) return;",
  '/gave up/.test(row.message)',
])('the rule on names and texts sees %s', line => {
  expect([...PART_OF_A_NAME, ...PART_OF_A_TEXT].some(pattern => pattern.test(line))).toBe(true);
});

test('nothing is left for later', () => {
  const mark = new RegExp(
    `\\b(${['TO', 'FIX'].map((start, index) => start + ['DO', 'ME'][index]).join('|')})\\b`,
  );
  expect([...written, ...markdown].filter(path => mark.test(readText(path)))).toEqual([]);
});

test('the lock file names no address: any registry may serve it', () => {
  const resolved = [...readText('package-lock.json').matchAll(/"resolved": "([^"]+)"/g)].map(([, to]) => to);
  expect(resolved.filter(to => to !== 'client' && to !== 'ui')).toEqual([]);
});

const CITED = /(?<![\w./-])(?:src|test|docs|scripts|client|ui|bench|\.ci)\/[\w./-]*\w\/?/g;

/** Where a text stands for several paths, as in `src/targets/<type>.ts`, there is nothing to look for. */
const citedIn = (path: string): string[] =>
  [
    ...readText(path)
      .replace(/[\w./-]*[<*{][^\s`|)]*/g, '')
      .matchAll(CITED),
  ].map(([place]) => place);

test('every path that documents and comments cite exists', () => {
  const missing = [...markdown, ...source].flatMap(path =>
    citedIn(path)
      .filter(place => !existsSync(place))
      .map(place => `${path}: ${place}`),
  );
  expect(missing).toEqual([]);
});

/** As GitHub makes them of headings. */
const anchorsOf = (path: string): string[] =>
  linesOf(path)
    .filter(line => /^#+ /.test(line))
    .map(line =>
      line
        .replace(/^#+ /, '')
        .toLowerCase()
        .replace(/[^\w\- ]/g, '')
        .replaceAll(' ', '-'),
    );

const linksIn = (path: string): string[] =>
  [...readText(path).matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, link = '']) => link)
    .filter(link => !/^[a-z]+:/.test(link));

function leadsSomewhere(path: string, link: string): boolean {
  const [file = '', anchor] = link.split('#');
  const place = file === '' ? path : join(dirname(path), file);
  return existsSync(place) && (anchor === undefined || anchorsOf(place).includes(anchor));
}

test('every relative link of the documents leads somewhere', () => {
  const broken = markdown.flatMap(path =>
    linksIn(path)
      .filter(link => !leadsSomewhere(path, link))
      .map(link => `${path}: ${link}`),
  );
  expect(broken).toEqual([]);
});
