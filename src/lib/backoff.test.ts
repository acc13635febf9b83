import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { nextDelay, type RetrySchedule } from './backoff.ts';

const HOUR = 3_600_000;
const delays = fc.nat(8 * HOUR);
const schedules = fc.array(delays, { minLength: 1, maxLength: 12 });
const listed = (...delays: readonly number[]): RetrySchedule => ({ kind: 'listed', delays });
const totalMs = 16 * HOUR;
const randoms = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

test('entry n of the schedule is the wait after n attempts', () => {
  const waits = [0, 1, 2, 3].map(attempts =>
    nextDelay(listed(0, 5000, 30_000), attempts, { totalMs, random: () => 0.5 }),
  );
  expect(waits).toEqual([0, 5000, 30_000, undefined]);
});

test('a wait stays within a fifth of its entry', () => {
  fc.assert(
    fc.property(schedules, fc.nat(11), randoms, (schedule, attempts, random) => {
      const wait = nextDelay(listed(...schedule), attempts, { totalMs, random: () => random });
      const entry = schedule[attempts];
      if (entry === undefined) return wait === undefined;
      return wait !== undefined && wait >= Math.floor(entry * 0.8) && wait <= Math.ceil(entry * 1.2);
    }),
  );
});

test('the spread reaches both ends', () => {
  expect(nextDelay(listed(1000), 0, { totalMs, random: () => 0 })).toBe(800);
  expect(nextDelay(listed(1000), 0, { totalMs, random: () => 0.999_999 })).toBe(1200);
});

test('Retry-After lengthens a wait up to an hour and never shortens it', () => {
  fc.assert(
    fc.property(delays, randoms, fc.nat(100 * HOUR), (entry, random, wish) => {
      const plain = nextDelay(listed(entry), 0, { totalMs, random: () => random }) ?? -1;
      const wished = nextDelay(listed(entry), 0, { totalMs, random: () => random, retryAfterMs: wish });
      return wished === Math.max(plain, Math.min(wish, HOUR));
    }),
  );
});

test('an exhausted schedule stays exhausted whatever the receiver requests', () => {
  expect(nextDelay(listed(0), 1, { totalMs, random: () => 0, retryAfterMs: 5000 })).toBeUndefined();
  expect(nextDelay(listed(), 0, { totalMs, random: () => 0 })).toBeUndefined();
});

const middle = { totalMs, random: () => 0.5 };

test('waits that grow do so from the first by their rate up to the most', () => {
  const waits: RetrySchedule = { kind: 'growing', firstMs: 1000, rate: 2, mostMs: 10_000 };
  expect([1, 2, 3, 4, 5, 6].map(attempts => nextDelay(waits, attempts, middle))).toEqual([
    1000, 2000, 4000, 8000, 10_000, 10_000,
  ]);
});

test('a first wait of nothing is followed by waits of a second and more', () => {
  const waits: RetrySchedule = { kind: 'growing', firstMs: 0, rate: 1, mostMs: 10_000 };
  expect([1, 2, 3].map(attempts => nextDelay(waits, attempts, middle))).toEqual([0, 1000, 1000]);
});

test('waits that grow end when they add up to as much as the schedule of all targets', () => {
  const growing = fc.record({
    kind: fc.constant('growing' as const),
    firstMs: fc.nat(600_000),
    rate: fc.double({ min: 1, max: 20, noNaN: true }),
    mostMs: fc.integer({ min: 10_000, max: 180_000 }),
  });
  fc.assert(
    fc.property(growing, fc.nat(HOUR), (waits, horizon) => {
      let total = 0;
      for (let attempts = 1; ; attempts++) {
        const wait = nextDelay(waits, attempts, { totalMs: horizon, random: () => 0.5 });
        if (wait === undefined) return total + waits.mostMs * 20 >= horizon - waits.firstMs;
        total += wait;
        if (total > horizon + attempts) return false;
      }
    }),
    { numRuns: 50 },
  );
});
