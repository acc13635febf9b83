import { expect, it } from 'vitest';
import { LONGEST_RETRY_SECONDS, rateLimited } from './rate-limited.ts';

it.each([
  [1, 1],
  [1000, 1],
  [1001, 2],
  [60_000, LONGEST_RETRY_SECONDS],
])('asks callers that wait %i ms to come again in %i s', (waitMs, retryAfterSeconds) => {
  expect(rateLimited('too many', waitMs)).toMatchObject({
    code: 'rate-limited',
    message: 'too many',
    retryAfterSeconds,
  });
});

it('asks for no more seconds than are given as the longest', () => {
  expect(rateLimited('too many', 60_000, 30).retryAfterSeconds).toBe(30);
  expect(rateLimited('too many', 20_000, 30).retryAfterSeconds).toBe(20);
});
