import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { nextDelay } from './backoff.ts';

const HOUR = 3_600_000;
const delays = fc.nat(8 * HOUR);
const schedules = fc.array(delays, { minLength: 1, maxLength: 12 });
const randoms = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

test('entry n of the schedule is the wait after n attempts', () => {
  const middle = (): number => 0.5;
  const waits = [0, 1, 2, 3].map(attempts => nextDelay([0, 5000, 30_000], attempts, middle));
  expect(waits).toEqual([0, 5000, 30_000, undefined]);
});

test('a wait stays within a fifth of its entry', () => {
  fc.assert(
    fc.property(schedules, fc.nat(11), randoms, (schedule, attempts, random) => {
      const wait = nextDelay(schedule, attempts, () => random);
      const entry = schedule[attempts];
      if (entry === undefined) return wait === undefined;
      return wait !== undefined && wait >= Math.floor(entry * 0.8) && wait <= Math.ceil(entry * 1.2);
    }),
  );
});

test('the spread reaches both ends', () => {
  expect(nextDelay([1000], 0, () => 0)).toBe(800);
  expect(nextDelay([1000], 0, () => 0.999_999)).toBe(1200);
});

test('Retry-After lengthens a wait up to an hour and never shortens it', () => {
  fc.assert(
    fc.property(delays, randoms, fc.nat(100 * HOUR), (entry, random, wish) => {
      const plain = nextDelay([entry], 0, () => random) ?? -1;
      const wished = nextDelay([entry], 0, () => random, wish);
      return wished === Math.max(plain, Math.min(wish, HOUR));
    }),
  );
});

test('an exhausted schedule stays exhausted whatever the receiver wishes', () => {
  expect(nextDelay([0], 1, () => 0, 5000)).toBeUndefined();
  expect(nextDelay([], 0, () => 0)).toBeUndefined();
});
