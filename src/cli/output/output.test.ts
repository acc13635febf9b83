import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { HeadgateError } from '@headgate/client';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { prettyLine } from '../../lib/logger.ts';
import { terminalText } from '../../lib/text.ts';
import { reportFailure } from './explain.ts';
import { print, printError } from './output.ts';
import { printItem, printList } from './table.ts';

const HOSTILE = [
  '\x1b[2J\x1b]0;title\x07',
  '\x1b[31mred',
  '\x9b2J',
  '\u202egnp.exe',
  '\u2066a\u2069',
  'a\u200bb',
  '\r overwritten',
  '\b\b\x7f',
  '\x00',
].join('');
const OBEYED = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

let written = '';
const writes = [process.stdout.write, process.stderr.write] as const;
beforeEach(() => {
  written = '';
  process.stdout.write = process.stderr.write = (text: string | Uint8Array) => {
    written += String(text);
    return true;
  };
});
afterEach(() => {
  [process.stdout.write, process.stderr.write] = writes;
});

it.each([
  ['a result', () => print(HOSTILE)],
  ['a message', () => printError(HOSTILE)],
  [
    'a refusal of a server',
    () =>
      reportFailure(
        Object.assign(Object.create(HeadgateError.prototype), {
          status: 500,
          message: HOSTILE,
          problems: [1, 2].map(() => ({ path: HOSTILE, message: HOSTILE })),
          requestId: HOSTILE,
        }),
      ),
  ],
  ['a failure', () => reportFailure(new Error(HOSTILE))],
  ['a cell', () => printList([{ a: `${HOSTILE}\nnext` }], [{ name: 'a', of: ({ a }) => a }], {}, 'none')],
  ['an item', () => printItem({ [HOSTILE]: HOSTILE, deep: { [HOSTILE]: [HOSTILE] } }, {})],
  ['an item as JSON', () => printItem({ [HOSTILE]: HOSTILE }, { json: true })],
  [
    'a log line',
    () =>
      print(prettyLine(JSON.stringify({ level: 'warn', time: HOSTILE, msg: HOSTILE, [HOSTILE]: HOSTILE }))),
  ],
  ['a log line that is no JSON', () => print(prettyLine(HOSTILE))],
])('no control character of %s reaches the terminal', (_, act) => {
  act();
  // Colours of our own.
  const COLOUR = new RegExp(`${String.fromCodePoint(27)}\\[(?:1|2|22|31|32|33|39|90)m`, 'g');
  expect(written.replace(COLOUR, '')).not.toMatch(OBEYED);
  expect(written).toContain('\\u202egnp.exe');
});

it('JSON stays the same JSON, and a cell one line', () => {
  printItem({ a: HOSTILE }, { json: true });
  expect(JSON.parse(written)).toEqual({ a: HOSTILE });
  written = '';
  printList([{ a: 'one\r\ntwo\u2028three' }], [{ name: 'a', of: ({ a }) => a }], {}, 'none');
  expect(written.trimEnd().split('\n')).toHaveLength(2);
});

it('texts of people stay as they are', () => {
  const text = 'Größe\tعربى 日本 é\n';
  expect(terminalText(text)).toBe(text);
});

it('nothing writes to the terminal past these functions', () => {
  const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter(
    name => name.endsWith('.ts') && !name.endsWith('.test.ts'),
  );
  const using = (what: RegExp) =>
    files.filter(name => what.test(readFileSync(join('src', name), 'utf8'))).sort();
  expect(using(/\b(?:stdout|stderr)\.write\(|console\./)).toEqual(['cli/output/output.ts', 'lib/logger.ts']);
  expect(using(/\bprintStyled(?:Error)?\(/)).toEqual([
    'cli/commands/demo.ts',
    'cli/output/output.ts',
    'cli/output/table.ts',
    'cli/run-app.ts',
  ]);
});
