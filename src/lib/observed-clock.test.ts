import { expect, it } from 'vitest';
import { observedClockOf, testClock } from '../../test/helpers/clock.ts';
import { silentLogger } from './logger.ts';
import { createObservedClock } from './observed-clock.ts';

it('goes with the monotonic clock while the process runs, however rarely anybody asks', async () => {
  const clock = testClock();
  const observed = observedClockOf(clock);
  const begun = observed.monotonic();
  await clock.advance(3_600_000);
  expect(observed.monotonic() - begun).toBe(3_600_000);
  expect(observed.unobservedMs()).toBe(0);
});

it.each([
  ['stopped by a signal or a pause of its container', 15_000],
  ['blocked for hours', 8 * 3_600_000],
])('stands still while the process is %s', async (_, ms) => {
  const clock = testClock();
  const observed = observedClockOf(clock);
  const begun = observed.monotonic();
  await clock.advance(10_000);
  await clock.freeze(ms);
  expect(observed.monotonic() - begun).toBe(10_000);
  expect(observed.unobservedMs()).toBe(ms);
  await clock.advance(10_000);
  expect(observed.monotonic() - begun).toBe(20_000);
});

it('reports a suspension in which the monotonic clock stood still, and leaves it out only once', async () => {
  const clock = testClock();
  const observed = observedClockOf(clock);
  const begun = observed.monotonic();
  await clock.advance(10_000);
  clock.suspend(3_600_000);
  expect(observed.unobservedMs()).toBe(3_600_000);
  await clock.advance(10_000);
  expect(observed.monotonic() - begun).toBe(20_000);
  expect(observed.unobservedMs()).toBe(3_600_000);
});

it('takes neither a step of the wall clock nor a moment of much work for a time without observation', async () => {
  const clock = testClock();
  const observed = observedClockOf(clock);
  const begun = observed.monotonic();
  clock.step(3_600_000);
  await clock.advance(1000);
  clock.step(-7_200_000);
  await clock.freeze(2000);
  expect(observed.monotonic() - begun).toBe(3000);
  expect(observed.unobservedMs()).toBe(0);
});

it('logs each time without observation once', async () => {
  const clock = testClock();
  const logged: unknown[] = [];
  const observed = createObservedClock({
    clock,
    logger: { ...silentLogger, warn: fields => void logged.push(fields) },
  });
  await clock.freeze(90_000);
  await clock.advance(60_000);
  clock.suspend(15_000);
  await clock.advance(60_000);
  expect(logged).toEqual([{ duration: '1m 30s' }, { duration: '15s' }]);
  await observed.stop();
});
