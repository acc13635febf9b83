import { expect, test } from 'vitest';
import { testClock } from '../../../test/helpers/clock.ts';
import { createFailureWindow } from './failure-limits.ts';

test('when more keys fail than may be held, the oldest count is forgotten', async () => {
  const failures = createFailureWindow(testClock(), 3);
  const limit = { count: 1, perMs: 3_600_000 };
  for (const key of ['a', 'b', 'c']) await failures.fail(key, limit);
  await failures.fail('d', limit);
  expect(await failures.reserve('a', limit)).toBe(0);
  for (const key of ['b', 'c', 'd']) expect(await failures.reserve(key, limit)).toBeGreaterThan(0);
});

test('no more wait for the outcome of others than may, over all keys, and the rest hear so', async () => {
  const failures = createFailureWindow(testClock(), 10, 2);
  const limit = { count: 1, perMs: 3_600_000 };
  for (const key of ['a', 'b']) expect(await failures.reserve(key, limit)).toBe(0);
  const waiting = ['a', 'b'].map(key => failures.reserve(key, limit));
  await expect(failures.reserve('a', limit)).rejects.toMatchObject({
    code: 'unavailable',
    retryAfterSeconds: 2,
  });
  for (const key of ['a', 'b']) failures.release(key);
  expect(await Promise.all(waiting)).toEqual([0, 0]);
});
