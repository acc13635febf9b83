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
  ['1h30m', 5_400_000],
  ['1.5h', 5_400_000],
  ['1d2h3m4s5ms', 93_784_005],
  ['1m5ms', 60_005],
  ['1.1h', 3_960_000],
  ['0.5s', 500],
  ['1.5h15m', 6_300_000],
])('reads %s', (text, ms) => {
  expect(parseDuration(text)).toBe(ms);
});

it.each([
  ...[
    '',
    '60',
    '60 s',
    '-5s',
    '5w',
    '401d',
    `${'9'.repeat(400)}s`,
    's',
    '5M',
    '1h30',
    '1h 30m',
    '30m1h',
    '1h1h',
  ],
  ...['1.h', '.5h', '1,5h', '1e3s', '0.5ms', '1.0005s', '400d1ms', '0.0000000s'],
])('refuses %j', text => {
  expect(parseDuration(text)).toBeUndefined();
  expect(() => new Duration(text)).toThrow(RangeError);
});

it('reads a length the same whichever units and decimal places it is written with', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 34_560_000_000 }), ms => {
      const days = `${Math.floor(ms / 86_400_000)}d${ms % 86_400_000}ms`;
      const minutes = `${Math.floor(ms / 60_000)}m${((ms % 60_000) / 1000).toFixed(3)}s`;
      const seconds = `${Math.floor(ms / 1000)}.${String(ms % 1000).padStart(3, '0')}s`;
      for (const text of [`${ms}ms`, days, minutes, seconds]) expect(parseDuration(text)).toBe(ms);
    }),
  );
});

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
