import { expect, test } from 'vitest';
import { type TestClock, testClock } from '../../../test/helpers/clock.ts';
import { AppError } from '../../lib/errors.ts';
import type { BackOffPolicy, RateLimit } from './failure-limits.ts';
import { createLoginLimits, type LoginLimits } from './login-limits.ts';

function setup(
  limit: RateLimit = { count: 2, perMs: 1000 },
  backOff: BackOffPolicy = { after: 0, longestMs: 60_000 },
): { limits: LoginLimits; clock: TestClock } {
  const clock = testClock();
  return { clock, limits: createLoginLimits({ clock, limit: () => limit, backOff: () => backOff }) };
}

async function fail(limits: LoginLimits, address: string, name: string): Promise<void> {
  await (await limits.reserve(address, name)).failed();
}

const limited = (retryAfterSeconds: number) => ({ code: 'rate-limited', retryAfterSeconds });

test('an address that failed too often waits until the span ends, whatever names it tries', async () => {
  const { limits, clock } = setup();
  await fail(limits, '192.0.2.1', 'a');
  await fail(limits, '192.0.2.1', 'b');
  await expect(limits.reserve('192.0.2.1', 'c')).rejects.toMatchObject(limited(1));
  await expect(limits.reserve('192.0.2.2', 'c')).resolves.toBeDefined();
  await clock.advance(1000);
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

test('a refusal by name releases the reservation of the address', async () => {
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
  const { limits, clock } = setup({ count: 1, perMs: 86_400_000 });
  await fail(limits, '192.0.2.1', 'ann');
  await expect(limits.reserve('192.0.2.1', 'ann')).rejects.toMatchObject(limited(5));
  await clock.advance(3_600_000);
  await expect(limits.reserve('192.0.2.1', 'ann')).rejects.toMatchObject(limited(5));
});

test('a changed limit counts at the next attempt', async () => {
  const clock = testClock();
  let limit = { count: 1, perMs: 60_000 };
  const limits = createLoginLimits({
    clock,
    limit: () => limit,
    backOff: () => ({ after: 0, longestMs: 0 }),
  });
  await fail(limits, '192.0.2.1', 'ann');
  await expect(limits.reserve('192.0.2.1', 'ann')).rejects.toMatchObject({ code: 'rate-limited' });
  limit = { count: 2, perMs: 60_000 };
  await expect(limits.reserve('192.0.2.1', 'ann')).resolves.toBeDefined();
});

const WIDE: RateLimit = { count: 1000, perMs: 1000 };
const BACK_OFF: BackOffPolicy = { after: 3, longestMs: 10_000 };

/** Fails so many times, each as soon as that is let, and answers the seconds that had to be waited for each. */
async function guess(
  { limits, clock }: ReturnType<typeof setup>,
  { address, name, times }: { address: string; name: string; times: number },
): Promise<number[]> {
  const waits: number[] = [];
  while (waits.length < times) {
    const refusal = await fail(limits, address, name).catch((error: unknown) => error);
    const seconds = refusal instanceof AppError ? (refusal.retryAfterSeconds ?? 0) : 0;
    await clock.advance(seconds * 1000);
    if (refusal !== undefined) await fail(limits, address, name);
    waits.push(seconds);
  }
  return waits;
}

test('guesses at a name from one address wait longer each time, up to the longest wait', async () => {
  const guesser = setup(WIDE, BACK_OFF);
  const waits = await guess(guesser, { address: '192.0.2.1', name: 'ann', times: 9 });
  expect(waits).toEqual([0, 0, 0, 1, 2, 4, 8, 10, 10]);
});

test('the wait is one name at one address: not other names from there, nor the name elsewhere', async () => {
  const guesser = setup(WIDE, BACK_OFF);
  await guess(guesser, { address: '192.0.2.1', name: 'ann', times: 9 });
  await expect(guesser.limits.reserve('192.0.2.1', 'ann')).rejects.toMatchObject(limited(10));
  await expect(guesser.limits.reserve('192.0.2.1', 'bob')).resolves.toBeDefined();
  await expect(guesser.limits.reserve('192.0.2.2', 'ann')).resolves.toBeDefined();
});

test('nobody is locked out by one address, however long it goes on', async () => {
  const guesser = setup(WIDE, BACK_OFF);
  await guess(guesser, { address: '192.0.2.1', name: 'ann', times: 200 });
  (await guesser.limits.reserve('192.0.2.9', 'ann')).succeeded();
});

test('failures from many addresses make the name wait, but not where it logged in within a day', async () => {
  const { limits, clock } = setup(WIDE, BACK_OFF);
  (await limits.reserve('192.0.2.9', 'ann')).succeeded();
  for (let host = 0; host < 12; host++) await fail(limits, `198.51.100.${host}`, 'ann');
  await expect(limits.reserve('192.0.2.3', 'ann')).rejects.toMatchObject(limited(1));
  await expect(limits.reserve('192.0.2.9', 'ann')).resolves.toBeDefined();
  await clock.advance(1000);
  (await limits.reserve('192.0.2.3', 'ann')).succeeded();
});

test('the right password ends the wait, and so does an hour without a failure', async () => {
  const guesser = setup(WIDE, BACK_OFF);
  const { limits, clock } = guesser;
  await guess(guesser, { address: '192.0.2.1', name: 'ann', times: 5 });
  await clock.advance(4000);
  (await limits.reserve('192.0.2.1', 'ann')).succeeded();
  expect(await guess(guesser, { address: '192.0.2.1', name: 'ann', times: 4 })).toEqual([0, 0, 0, 1]);
  await clock.advance(3_600_000);
  expect(await guess(guesser, { address: '192.0.2.1', name: 'ann', times: 4 })).toEqual([0, 0, 0, 1]);
});

test('of guesses made at the same moment only as many are judged as one after the other would be', async () => {
  const { limits, clock } = setup(WIDE, BACK_OFF);
  const burst = async (): Promise<number> => {
    const guesses = await Promise.allSettled(
      Array.from({ length: 50 }, () => fail(limits, '192.0.2.1', 'ann')),
    );
    return guesses.filter(({ status }) => status === 'fulfilled').length;
  };
  expect(await burst()).toBe(3);
  await clock.advance(1000);
  expect(await burst()).toBe(1);
  await clock.advance(1000);
  expect(await burst()).toBe(0);
  await clock.advance(1000);
  expect(await burst()).toBe(1);
});

test('right logins at the same moment all get in, even at the end of a wait', async () => {
  const guesser = setup(WIDE, BACK_OFF);
  await guess(guesser, { address: '192.0.2.1', name: 'ann', times: 3 });
  await guesser.clock.advance(1000);
  const enter = async (): Promise<void> => (await guesser.limits.reserve('192.0.2.1', 'ann')).succeeded();
  await Promise.all(Array.from({ length: 20 }, enter));
});

test.each([3_600_000, -3_600_000, -86_400_000, 86_400_000])(
  'a step of the wall clock by %i ms ends no wait and lengthens none',
  async stepMs => {
    const { limits, clock } = setup({ count: 2, perMs: 60_000 }, { after: 3, longestMs: 10_000 });
    await fail(limits, '192.0.2.1', 'ann');
    await fail(limits, '192.0.2.1', 'bob');
    clock.step(stepMs);
    await expect(limits.reserve('192.0.2.1', 'ann')).rejects.toMatchObject({ code: 'rate-limited' });
    await clock.advance(60_000);
    await expect(limits.reserve('192.0.2.1', 'ann')).resolves.toBeDefined();
  },
);

test('others who fail at the same address hold up nobody who logged in from there within a day', async () => {
  const { limits, clock } = setup({ count: 2, perMs: 60_000 }, BACK_OFF);
  (await limits.reserve('192.0.2.1', 'ann')).succeeded();
  for (const name of ['x', 'y']) await fail(limits, '192.0.2.1', name);
  await expect(limits.reserve('192.0.2.1', 'bob')).rejects.toMatchObject({ code: 'rate-limited' });
  (await limits.reserve('192.0.2.1', 'ann')).succeeded();
  await fail(limits, '192.0.2.1', 'ann');
  await expect(limits.reserve('192.0.2.1', 'ann')).rejects.toMatchObject({ code: 'rate-limited' });
  await clock.advance(60_000);
  (await limits.reserve('192.0.2.1', 'ann')).succeeded();
});
