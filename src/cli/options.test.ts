import { expect, it } from 'vitest';
import { timeAgo, timeAhead } from './options.ts';

const NOW = Date.UTC(2026, 0, 31, 8);

it.each([
  ['2h', '2026-01-31T06:00:00.000Z'],
  ['0s', '2026-01-31T08:00:00.000Z'],
  ['2026-01-30T23:30:00+01:00', '2026-01-30T22:30:00.000Z'],
  ['2026-01-30T23:30Z', '2026-01-30T23:30:00.000Z'],
])('%s is %s', (text, time) => {
  expect(timeAgo(text, NOW)).toBe(time);
});

it.each(['yesterday', '2026-01-30', '2026-01-30T23:30', '2026-13-45T99:99:99Z', ''])(
  '%j is no time, and the error says what is',
  text => {
    expect(() => timeAgo(text, NOW)).toThrow('such as 2h');
  },
);

it('a time to come is one from how far away it is, or itself', () => {
  expect(timeAhead('90d', NOW)).toBe('2026-05-01T08:00:00.000Z');
  expect(timeAhead('2027-01-01T00:00:00Z', NOW)).toBe('2027-01-01T00:00:00.000Z');
  expect(() => timeAhead('soon', NOW)).toThrow('such as 90d');
});
