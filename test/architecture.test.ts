import { existsSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { readText } from './helpers/markdown.ts';

const floors: readonly (readonly string[])[] = createRequire(import.meta.url)('../scripts/floors.cjs');

const MOST_LINES = 400;
const MOST_TEST_LINES = 600;
const MOST_MEDIAN_LINES = 80;

const filesBelow = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath, entry.name));

const isTest = (path: string): boolean => path.startsWith('test/') || path.endsWith('.test.ts');
const linesOf = (path: string): string[] => readText(path).trimEnd().split('\n');

const written = ['src', 'test', 'scripts', 'bench']
  .flatMap(filesBelow)
  .filter(path => /\.(ts|cjs|js|css|html)$/.test(path));
const source = written.filter(path => path.startsWith('src/') && path.endsWith('.ts') && !isTest(path));
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

test('files stay small, or say on their first line why they do not', () => {
  const isExcused = (path: string): boolean => /^(\/\/|\/\*|<!--).*\bbecause\b/.test(linesOf(path)[0] ?? '');
  const long = written.filter(
    path => linesOf(path).length > (isTest(path) ? MOST_TEST_LINES : MOST_LINES) && !isExcused(path),
  );
  expect(long).toEqual([]);
});

test('half of the source files fit on two screens', () => {
  const lengths = source.map(path => linesOf(path).length).sort((a, b) => a - b);
  expect(lengths[Math.floor(lengths.length / 2)]).toBeLessThanOrEqual(MOST_MEDIAN_LINES);
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
