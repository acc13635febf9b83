import { FILES, type FileName, NOTIFICATIONS_FILE } from '../../../src/config/configuration.ts';

/** A text of the configuration that is made to cost its reader as much as it can. */
export interface TextBomb {
  readonly what: string;
  readonly file: FileName;
  readonly text: () => string;
  /** What the first or the last problem says. */
  readonly error: RegExp;
}

const items = (item: string, count: number): string => Array.from({ length: count }, () => item).join(',');
const lines = (count: number, line: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => line(index)).join('\n');

const TOO_MANY = /too many values: at most \d+/;
const NOT_LISTED = /more problems are not listed/;

const NOTIFICATION_BOMBS: readonly Omit<TextBomb, 'file'>[] = [
  { what: '900,000 zeros', text: () => `targets: [${items('0', 900_000)}]`, error: TOO_MANY },
  { what: '900,000 empty items', text: () => `targets:\n${'-\n'.repeat(900_000)}`, error: TOO_MANY },
  {
    what: 'as many zeros as there may be',
    text: () => `targets: [${items('0', 390_000)}]`,
    error: NOT_LISTED,
  },
  { what: 'as many in lines', text: () => `targets:\n${'- 0\n'.repeat(390_000)}`, error: NOT_LISTED },
  { what: 'as many empty targets', text: () => `targets: [${items('{}', 190_000)}]`, error: NOT_LISTED },
  {
    what: 'as many empty notifications',
    text: () => `notifications: [${items('{}', 190_000)}]`,
    error: NOT_LISTED,
  },
  {
    what: '30,000 targets that are wrong',
    text: () => `targets:\n${lines(30_000, at => `- {id: t${at}, type: webhook, url: 5}`)}`,
    error: NOT_LISTED,
  },
  {
    what: '99,000 unknown keys',
    text: () => `{${Array.from({ length: 99_000 }, (_, at) => `"k${at}": 0`).join(', ')}}`,
    error: NOT_LISTED,
  },
  {
    what: '200,000 unknown keys',
    text: () => lines(200_000, at => `k${at}: 0`),
    error: /more than 100000 keys|too many values/,
  },
  {
    what: '99,000 routes that are none',
    text: () => `targets: [{id: a, type: router, routes: [${items('0', 99_000)}]}]`,
    error: /at most 1000 items/,
  },
  {
    what: '200,000 values in one target',
    text: () => `targets: [{id: a, type: router, routes: [${items('0', 200_000)}]}]`,
    error: /at most 100000 may stand in one place/,
  },
  {
    what: 'keys of 10,000 letters',
    text: () =>
      `targets: [{${Array.from({ length: 400 }, (_, at) => `"${'k'.repeat(10_000)}${at}": 0`).join(', ')}}]`,
    error: /'type' is required/,
  },
  {
    what: 'aliases of aliases',
    text: () => lines(30, at => `x-${at}: &a${at} [${items(at === 0 ? '0' : `*a${at - 1}`, 40)}]`),
    error: TOO_MANY,
  },
  { what: 'deep lists', text: () => `targets: ${'['.repeat(200_000)}`, error: /nest/ },
  { what: 'deep maps in lines', text: () => lines(3000, at => `${' '.repeat(at)}a:`), error: /nest/ },
  {
    what: 'a huge text',
    text: () => `targets: "${'x'.repeat(4_000_000)}"`,
    error: /must be a list of items/,
  },
  {
    what: 'a text of escapes',
    text: () => `targets: "${'\\x41'.repeat(500_000)}"`,
    error: /must be a list of items/,
  },
  {
    what: 'many documents',
    text: () => '---\na: 1\n'.repeat(400_000),
    error: /too many values|second document/,
  },
  {
    what: 'one key many times',
    text: () => `targets: {${items('a: 0', 90_000)}}`,
    error: /twice|not listed/,
  },
  {
    what: 'many anchors',
    text: () => `targets: [${Array.from({ length: 150_000 }, (_, at) => `&a${at} 0`).join(',')}]`,
    error: NOT_LISTED,
  },
  { what: 'many comments', text: () => `targets: [0,${'# x\n'.repeat(500_000)}0]`, error: /YAML/ },
  {
    what: '2 MB of blank lines',
    text: () => `${'\n'.repeat(2_000_000)}targets: 5`,
    error: /must be a list of items/,
  },
  {
    what: 'routers in a row',
    text: () =>
      JSON.stringify({
        targets: Array.from({ length: 20_000 }, (_, at) => ({
          ...{ id: `r${at}`, type: 'router', routes: [{ filter: 'true', output: `r${at + 1}` }] },
        })),
      }),
    error: /leads on through|Checking this text/,
  },
];

/** Bombs for every file of a configuration; that of notifications has most of what may be wrong. */
export const TEXT_BOMBS: readonly TextBomb[] = [
  ...NOTIFICATION_BOMBS.map(bomb => ({ file: NOTIFICATIONS_FILE as FileName, ...bomb })),
  ...FILES.flatMap(file => [
    { file, what: 'an unknown section of zeros', text: () => `inputs: [${items('0', 99_000)}]`, error: /./ },
    {
      file,
      what: 'empty items of all sections',
      text: () =>
        ['pipelines', 'inputs', 'outputs'].map(name => `${name}: [${items('{}', 60_000)}]`).join('\n'),
      error: /./,
    },
  ]),
];
