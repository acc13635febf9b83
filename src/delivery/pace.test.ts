import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { Rate } from '../lib/rate.ts';
import { createPace } from './pace.ts';

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
      const pace = createPace();
      pace.limit(rate(count));
      let now = 5000;
      /** Beginnings that were not taken back. */
      const begun: number[] = [];
      for (const one of steps) {
        if ('advance' in one) now += one.advance;
        else if ('unused' in one) {
          const [began] = begun.splice(-1 - one.unused, 1);
          if (began !== undefined) pace.unused(began);
        } else if (pace.freeAt() <= now) {
          pace.begun(now);
          if ('skip' in one) pace.unused(now);
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
  const pace = createPace();
  pace.limit(rate(2));
  pace.begun(100);
  expect(pace.freeAt()).toBeLessThanOrEqual(300);
  pace.begun(300);
  expect(pace.freeAt()).toBe(1100);
  pace.begun(1100);
  expect(pace.freeAt()).toBe(1300);
});

it('takes back the one that sent nothing, not one that began after it', () => {
  const pace = createPace();
  pace.limit(rate(2));
  for (const now of [0, 400]) pace.begun(now);
  pace.unused(0);
  pace.begun(400);
  expect(pace.freeAt()).toBe(1400);
  pace.unused(7);
  expect(pace.freeAt()).toBe(1400);
});

it('tells when several may begin at once, and takes back as many of a moment as began', () => {
  const pace = createPace();
  pace.limit(rate(4));
  pace.begun(0);
  pace.begun(200, 2);
  expect([1, 2, 3, 4].map(pace.freeAt)).toEqual([0, 1000, 1200, 1200]);
  pace.unused(200, 5);
  expect([3, 4].map(pace.freeAt)).toEqual([0, 1000]);
});

it('counts what went before its rate was changed', () => {
  const pace = createPace();
  pace.limit(rate(2));
  for (const now of [0, 10]) pace.begun(now);
  pace.limit(rate(1));
  expect(pace.freeAt()).toBe(1010);
  pace.limit(rate(3));
  expect(pace.freeAt()).toBeLessThanOrEqual(20);
  pace.limit(undefined);
  expect(pace.freeAt()).toBeLessThanOrEqual(20);
});

it('waits for the later of its rate and a pause, and no pause shortens another', () => {
  const pace = createPace();
  pace.pause(900);
  pace.pause(500);
  expect(pace.freeAt()).toBe(900);
  pace.limit(rate(1));
  pace.begun(0);
  expect(pace.freeAt()).toBe(1000);
});

it('remembers no more of a large rate than it needs, and keeps it in each part', () => {
  const pace = createPace();
  pace.limit(rate(1_000_000, 86_400_000));
  for (let sent = 0; sent < 10_000; sent++) pace.begun(0);
  expect(pace.freeAt()).toBe(864_000);
});
