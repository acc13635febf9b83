import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { Rate } from '../../lib/rate.ts';
import { createRateLimiter } from './rate.ts';

const rate = (count: number, perMs = 1000): Rate => new Rate(`${count}/${perMs} ms`, count, perMs);

const step = fc.oneof(
  { weight: 6, arbitrary: fc.constant({ send: true }) },
  { weight: 2, arbitrary: fc.constant({ skip: true }) },
  { weight: 3, arbitrary: fc.record({ unused: fc.nat(3) }) },
  { weight: 5, arbitrary: fc.record({ advance: fc.constantFrom(1, 50, 200, 400) }) },
);

it('lets no stretch of its length hold more than the rate, whatever sends nothing after all', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 3 }), fc.array(step, { maxLength: 200 }), (count, steps) => {
      const pace = createRateLimiter();
      pace.setLimit(rate(count));
      let now = 5000;
      /** Beginnings that were not taken back. */
      const begun: number[] = [];
      for (const one of steps) {
        if ('advance' in one) now += one.advance;
        else if ('unused' in one) {
          const [began] = begun.splice(-1 - one.unused, 1);
          if (began !== undefined) pace.refund(began);
        } else if (pace.nextFreeAt() <= now) {
          pace.record(now);
          if ('skip' in one) pace.refund(now);
          else begun.push(now);
        }
      }
      for (const from of begun)
        expect(begun.filter(time => time >= from && time < from + 1000).length).toBeLessThanOrEqual(count);
    }),
    { numRuns: 2000 },
  );
});

it('lets so many go at once as the rate says, and the next when the first is as long ago', () => {
  const pace = createRateLimiter();
  pace.setLimit(rate(2));
  pace.record(100);
  expect(pace.nextFreeAt()).toBeLessThanOrEqual(300);
  pace.record(300);
  expect(pace.nextFreeAt()).toBe(1100);
  pace.record(1100);
  expect(pace.nextFreeAt()).toBe(1300);
});

it('takes back the one that sent nothing, not one that began after it', () => {
  const pace = createRateLimiter();
  pace.setLimit(rate(2));
  for (const now of [0, 400]) pace.record(now);
  pace.refund(0);
  pace.record(400);
  expect(pace.nextFreeAt()).toBe(1400);
  pace.refund(7);
  expect(pace.nextFreeAt()).toBe(1400);
});

it('knows when several may begin at once, and takes back as many of a moment as began', () => {
  const pace = createRateLimiter();
  pace.setLimit(rate(4));
  pace.record(0);
  pace.record(200, 2);
  expect([1, 2, 3, 4].map(pace.nextFreeAt)).toEqual([0, 1000, 1200, 1200]);
  pace.refund(200, 5);
  expect([3, 4].map(pace.nextFreeAt)).toEqual([0, 1000]);
});

it('counts what went before its rate was changed', () => {
  const pace = createRateLimiter();
  pace.setLimit(rate(2));
  for (const now of [0, 10]) pace.record(now);
  pace.setLimit(rate(1));
  expect(pace.nextFreeAt()).toBe(1010);
  pace.setLimit(rate(3));
  expect(pace.nextFreeAt()).toBeLessThanOrEqual(20);
  pace.setLimit(undefined);
  expect(pace.nextFreeAt()).toBeLessThanOrEqual(20);
});

it('waits for the later of its rate and a pause, and no pause shortens another', () => {
  const pace = createRateLimiter();
  pace.pause(900);
  pace.pause(500);
  expect(pace.nextFreeAt()).toBe(900);
  pace.setLimit(rate(1));
  pace.record(0);
  expect(pace.nextFreeAt()).toBe(1000);
});

it('remembers no more of a large rate than it needs, and keeps it in each part', () => {
  const pace = createRateLimiter();
  pace.setLimit(rate(1_000_000, 86_400_000));
  for (let sent = 0; sent < 10_000; sent++) pace.record(0);
  expect(pace.nextFreeAt()).toBe(864_000);
});
