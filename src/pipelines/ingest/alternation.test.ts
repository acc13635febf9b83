import { expect, it } from 'vitest';
import type { Alternation } from '../components/state.ts';
import { alternates, nextAlternation } from './alternation.ts';

/** Whether each reading of one counter shows that several processes answer. */
function play(...values: number[]): boolean[] {
  let alternation: Alternation | undefined;
  return values.map((value, reading) => {
    const last = values[reading - 1] ?? value;
    if (reading > 0) alternation = nextAlternation(alternation, { entry: 7, last, value, reading });
    return alternates(alternation, reading);
  });
}

it('is seen when values fall to where they were for the second time', () => {
  expect(play(9_000_000, 4_000_000, 9_000_010, 4_000_010, 9_000_020)).toEqual([
    false,
    false,
    false,
    true,
    true,
  ]);
  expect(play(90, 91, 92, 40, 41, 42, 93, 94, 43).at(-1)).toBe(true);
});

it('is over after ten readings without a move, and seen again at once with the next', () => {
  const readings = play(90, 40, 91, 41, ...Array.from({ length: 12 }, (_, at) => 42 + at), 95);
  expect(readings.slice(3)).toEqual([...new Array<boolean>(11).fill(true), false, false, true]);
});

it.each([
  ['a restart', [1000, 0, 500, 1100, 1200]],
  ['restarts far apart', [1000, 3, 600, 1001, 1010, 2, 700, 1300]],
  ['a counter of little that restarts twice', [1, 0, 2, 0, 1]],
  ['a dip', [1000, 990, 1010, 1020]],
])('is not %s', (_, values) => {
  expect(play(...values)).not.toContain(true);
});

it('follows the largest counter of those that fell together', () => {
  const small = nextAlternation(undefined, { entry: 1, last: 5, value: 3, reading: 2 });
  const large = nextAlternation(small, { entry: 2, last: 500, value: 300, reading: 2 });
  expect(large?.entry).toBe(2);
  expect(nextAlternation(large, { entry: 3, last: 900, value: 300, reading: 3 })?.entry).toBe(2);
});
