import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { Duration, formatDuration, parseDuration } from './duration.ts';

it.each([
  ['0s', 0],
  ['500ms', 500],
  ['60s', 60_000],
  ['5m', 300_000],
  ['1h', 3_600_000],
  ['400d', 34_560_000_000],
])('reads %s', (text, ms) => {
  expect(parseDuration(text)).toBe(ms);
});

it.each(['', '60', '60 s', '-5s', '1.5h', '5w', '401d', `${'9'.repeat(400)}s`, 's', '5M'])(
  'refuses %j',
  text => {
    expect(parseDuration(text)).toBeUndefined();
    expect(() => new Duration(text)).toThrow(RangeError);
  },
);

it('stays as it was written wherever it is shown', () => {
  const window = new Duration('60s');
  expect(`${window}`).toBe('60s');
  expect(JSON.stringify({ window })).toBe('{"window":"60s"}');
});

it.each([
  [0, '0ms'],
  [999, '999ms'],
  [45_900, '45s'],
  [300_000, '5m'],
  [3_900_000, '1h 5m'],
  [3_605_000, '1h'],
  [266_400_000, '3d 2h'],
])('tells people %d ms as %s', (ms, text) => {
  expect(formatDuration(ms)).toBe(text);
});

it('never shows more time than there was', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 34_560_000_000 }), ms => {
      const told = formatDuration(ms)
        .split(' ')
        .reduce((sum, part) => sum + (parseDuration(part) ?? Number.NaN), 0);
      expect(told).toBeLessThanOrEqual(ms);
    }),
  );
});
