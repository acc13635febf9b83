import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type TestClock, testClock } from '../../test/helpers/clock.ts';
import type { RateLimit } from './failure-count.ts';
import { createLoginLimits, type LoginLimits } from './login-limits.ts';

// The limiter keeps its own time.
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'] });
});
afterEach(() => {
  vi.useRealTimers();
});

function setup(limit: RateLimit = { count: 2, perMs: 1000 }): { limits: LoginLimits; clock: TestClock } {
  const clock = testClock();
  return { clock, limits: createLoginLimits({ clock, limit: () => limit }) };
}

async function fail(limits: LoginLimits, address: string, name: string): Promise<void> {
  await (await limits.reserve(address, name)).failed();
}

const limited = (retryAfterSeconds: number) => ({ code: 'rate-limited', retryAfterSeconds });

test('an address that failed too often waits until the span ends, whatever names it tries', async () => {
  const { limits } = setup();
  await fail(limits, '192.0.2.1', 'a');
  await fail(limits, '192.0.2.1', 'b');
  await expect(limits.reserve('192.0.2.1', 'c')).rejects.toMatchObject(limited(1));
  await expect(limits.reserve('192.0.2.2', 'c')).resolves.toBeDefined();
  vi.advanceTimersByTime(1000);
  await expect(limits.reserve('192.0.2.1', 'c')).resolves.toBeDefined();
});

test('a name that failed too often waits, from whatever address', async () => {
  const { limits } = setup();
  await fail(limits, '192.0.2.1', 'ann');
  await fail(limits, '192.0.2.2', 'ann');
  await expect(limits.reserve('192.0.2.3', 'ann')).rejects.toMatchObject(limited(1));
  await expect(limits.reserve('192.0.2.3', 'bob')).resolves.toBeDefined();
});

test('an address that lately logged in under the name is not locked out by others, but by itself it is', async () => {
  const { limits, clock } = setup();
  (await limits.reserve('192.0.2.9', 'ann')).succeeded();
  await fail(limits, '192.0.2.1', 'ann');
  await fail(limits, '192.0.2.2', 'ann');
  const home = await limits.reserve('192.0.2.9', 'ann');
  await home.failed();
  await fail(limits, '192.0.2.9', 'ann');
  await expect(limits.reserve('192.0.2.9', 'ann')).rejects.toMatchObject(limited(1));

  vi.advanceTimersByTime(1000);
  await clock.advance(24 * 3_600_000);
  await fail(limits, '192.0.2.1', 'ann');
  await fail(limits, '192.0.2.2', 'ann');
  await expect(limits.reserve('192.0.2.9', 'ann')).rejects.toMatchObject(limited(1));
});

test('a success under another name opens nothing', async () => {
  const { limits } = setup();
  (await limits.reserve('192.0.2.9', 'mallory')).succeeded();
  await fail(limits, '192.0.2.1', 'ann');
  await fail(limits, '192.0.2.2', 'ann');
  await expect(limits.reserve('192.0.2.9', 'ann')).rejects.toMatchObject(limited(1));
});

test('only failures count: successes and attempts that were not judged do not', async () => {
  const { limits } = setup();
  for (let round = 0; round < 20; round++) {
    (await limits.reserve('192.0.2.1', 'ann')).succeeded();
    (await limits.reserve('192.0.2.1', 'bob')).abandoned();
  }
  await fail(limits, '192.0.2.1', 'ann');
  await expect(limits.reserve('192.0.2.1', 'ann')).resolves.toBeDefined();
});

test('of guesses made at the same moment no more than the limit are judged, and the others hear to wait', async () => {
  const { limits } = setup();
  const guesses = await Promise.allSettled(
    Array.from({ length: 50 }, () => fail(limits, '192.0.2.1', 'ann')),
  );
  expect(guesses.filter(guess => guess.status === 'fulfilled')).toHaveLength(2);
  for (const guess of guesses.slice(2)) expect(guess).toMatchObject({ reason: limited(1) });
});

test('more right logins at the same moment than failures are allowed all get in', async () => {
  const { limits } = setup();
  let together = 0;
  let most = 0;
  const enter = async (): Promise<void> => {
    const attempt = await limits.reserve('192.0.2.1', 'ann');
    together += 1;
    most = Math.max(most, together);
    await Promise.resolve();
    together -= 1;
    attempt.succeeded();
  };
  await Promise.all(Array.from({ length: 50 }, enter));
  expect(most).toBeLessThanOrEqual(2);
});

test('an attempt given up lets the next one in', async () => {
  const { limits } = setup({ count: 1, perMs: 1000 });
  const first = await limits.reserve('192.0.2.1', 'ann');
  const second = limits.reserve('192.0.2.1', 'ann');
  first.abandoned();
  await expect(second).resolves.toBeDefined();
});

test('guesses that come while others are being judged never pass the limit', async () => {
  const { limits } = setup({ count: 3, perMs: 60_000 });
  let failures = 0;
  const guess = async (): Promise<void> => {
    const attempt = await limits.reserve('192.0.2.1', 'ann').catch(() => undefined);
    if (attempt === undefined) return;
    failures += 1;
    await Promise.resolve();
    await attempt.failed();
  };
  for (let round = 0; round < 20; round++) await Promise.all([guess(), guess(), guess()]);
  expect(failures).toBe(3);
});

test('a refusal by name gives the address its turn back', async () => {
  const { limits } = setup();
  await fail(limits, '192.0.2.1', 'ann');
  await fail(limits, '192.0.2.2', 'ann');
  for (let round = 0; round < 5; round++)
    await expect(limits.reserve('192.0.2.3', 'ann')).rejects.toMatchObject(limited(1));
  await expect(limits.reserve('192.0.2.3', 'bob')).resolves.toBeDefined();
});

test('addresses of one /56 share a count', async () => {
  const { limits } = setup();
  await fail(limits, '2001:db8:1:201::1', 'a');
  await fail(limits, '2001:db8:1:2ff::2', 'b');
  await expect(limits.reserve('2001:db8:1:200::3', 'c')).rejects.toMatchObject(limited(1));
  await expect(limits.reserve('2001:db8:1:300::3', 'c')).resolves.toBeDefined();
});

test('a long span asks nobody to wait more than five seconds before asking again', async () => {
  const { limits } = setup({ count: 1, perMs: 86_400_000 });
  await fail(limits, '192.0.2.1', 'ann');
  await expect(limits.reserve('192.0.2.1', 'ann')).rejects.toMatchObject(limited(5));
  vi.advanceTimersByTime(3_600_000);
  await expect(limits.reserve('192.0.2.1', 'ann')).rejects.toMatchObject(limited(5));
});

test('a changed limit counts at the next attempt', async () => {
  const clock = testClock();
  let limit = { count: 1, perMs: 60_000 };
  const limits = createLoginLimits({ clock, limit: () => limit });
  await fail(limits, '192.0.2.1', 'ann');
  await expect(limits.reserve('192.0.2.1', 'ann')).rejects.toMatchObject({ code: 'rate-limited' });
  limit = { count: 2, perMs: 60_000 };
  await expect(limits.reserve('192.0.2.1', 'ann')).resolves.toBeDefined();
});
