import fc from 'fast-check';
import { expect, test } from 'vitest';
import { testClock } from '../../test/helpers/clock.ts';
import { createTokenBuckets } from './token-buckets.ts';

const SIZE = { perSecond: 10, burst: 3 };

test('a bucket gives its burst at once, and then one token after the other as they come in', async () => {
  const clock = testClock();
  const buckets = createTokenBuckets(clock, 10);
  const take = () => buckets.take('a', SIZE);
  expect([take(), take(), take(), take()]).toEqual([0, 0, 0, 100]);
  await clock.advance(60);
  expect(take()).toBeCloseTo(40);
  await clock.advance(40);
  expect([take(), take()]).toEqual([0, 100]);
  await clock.advance(3_600_000);
  expect([take(), take(), take(), take()]).toEqual([0, 0, 0, 100]);
});

test('each key has a bucket of its own', () => {
  const buckets = createTokenBuckets(testClock(), 10);
  for (let turn = 0; turn < 3; turn++) buckets.take('a', SIZE);
  expect([buckets.take('a', SIZE), buckets.take('b', SIZE)]).toEqual([100, 0]);
});

test('another size counts at once', () => {
  const buckets = createTokenBuckets(testClock(), 10);
  expect(buckets.take('a', SIZE)).toBe(0);
  expect(buckets.take('a', { perSecond: 1, burst: 1 })).toBe(0);
  expect(buckets.take('a', { perSecond: 1, burst: 1 })).toBe(1000);
});

test('when there are more keys than may be held, the one used longest ago is forgotten', () => {
  const buckets = createTokenBuckets(testClock(), 2);
  const size = { perSecond: 1, burst: 1 };
  for (const key of ['a', 'b', 'c']) expect(buckets.take(key, size)).toBe(0);
  expect([buckets.take('b', size), buckets.take('a', size)]).toEqual([1000, 0]);
});

test('however the calls are spread, no more are let through than the burst and what has come in since', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.integer({ min: 0, max: 400 }), { maxLength: 60 }), async waits => {
      const clock = testClock();
      const buckets = createTokenBuckets(clock, 10);
      let taken = 0;
      let elapsed = 0;
      for (const wait of waits) {
        await clock.advance(wait);
        elapsed += wait;
        if (buckets.take('a', SIZE) === 0) taken += 1;
        expect(taken).toBeLessThanOrEqual(SIZE.burst + (elapsed * SIZE.perSecond) / 1000 + 1e-6);
      }
    }),
    { numRuns: 20 },
  );
});
