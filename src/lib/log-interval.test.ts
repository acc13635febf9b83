import { expect, test } from 'vitest';
import { createLogInterval } from './log-interval.ts';

test('the same is logged once in ten minutes, something else at once', () => {
  let now = 0;
  const isDue = createLogInterval({ monotonic: () => now });
  expect([isDue('a'), isDue('a'), isDue('b'), isDue()]).toEqual([true, false, true, true]);
  now += 10 * 60_000 - 1;
  expect([isDue('a'), isDue()]).toEqual([false, false]);
  now += 1;
  expect([isDue('a'), isDue('a')]).toEqual([true, false]);
});
