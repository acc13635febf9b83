import { expect, it } from 'vitest';
import { coloursFor, type Destination } from './colours.ts';

const isColoured = (stream: Destination, environment: Record<string, string>): boolean =>
  coloursFor(stream, environment).red('x') !== 'x';
const terminal = { isTTY: true };
const pipe = {};

it.each([
  ['a terminal', terminal, {}, true],
  ['a terminal that shows none', terminal, { TERM: 'dumb' }, false],
  ['a terminal of somebody who wants none', terminal, { NO_COLOR: '1' }, false],
  ['a pipe', pipe, {}, false],
  ['a pipe of a CI job', pipe, { CI: 'true' }, false],
  ['a pipe of somebody who wants them', pipe, { FORCE_COLOR: '1' }, true],
  [
    'a pipe of somebody who wants them and somebody who does not',
    pipe,
    { FORCE_COLOR: '1', NO_COLOR: '1' },
    false,
  ],
  ['a pipe where they are forced off', pipe, { FORCE_COLOR: '0' }, false],
])('%s', (_, stream, environment, expected) => {
  expect(isColoured(stream, environment)).toBe(expected);
});
