import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { SenderClock } from '../components/state.ts';
import {
  changeInPush,
  changeOnPage,
  claimsRestart,
  firstIncrease,
  goesOn,
  increaseOf,
  isRestart,
  isUnknownStart,
  nextSenderClock,
} from './counter.ts';

const count = fc.nat(1_000_000);
const NONE = Number.NaN;

describe('a counter on a page', () => {
  it('adds up to everything that was counted, over any number of restarts that numbers show', () => {
    const step = fc.record({ counted: count, restarts: fc.boolean() });
    fc.assert(
      fc.property(fc.array(step), steps => {
        let raw = 0;
        let [total, hidden] = [0, 0];
        for (const { counted, restarts } of steps) {
          const before = raw;
          raw = restarts ? counted : raw + counted;
          total += increaseOf(changeOnPage(before, raw, false), before, raw);
          if (restarts && raw >= before) hidden += before;
        }
        expect(total).toBe(steps.reduce((sum, { counted }) => sum + counted, 0) - hidden);
      }),
    );
  });

  it('began anew where it is lower, or was absent in between and does not go on from where it was', () => {
    expect(changeOnPage(5, 4, false)).toBe('began anew');
    expect(changeOnPage(5, 9, true)).toBe('began anew');
    expect(changeOnPage(0, 5, true)).toBe('began anew');
    expect(changeOnPage(9_000_000, 9_000_010, true)).toBe('went on');
    expect(changeOnPage(5, 5, true)).toBe('began anew');
    expect(changeOnPage(100, 100, true)).toBe('went on');
    expect(changeOnPage(5, 5, false)).toBe('went on');
  });

  it('counts a newborn series in full, and begins with one met together with its instance or of unknown start', () => {
    expect(firstIncrease(7, true, false)).toBe(7);
    expect(firstIncrease(7, false, false)).toBe(0);
    expect(firstIncrease(7, true, true)).toBe(0);
    expect(isUnknownStart({ start: 5, time: 5 })).toBe(true);
    expect(isUnknownStart({ start: NONE, time: NONE })).toBe(false);
  });
});

describe('a counter in pushes', () => {
  const last = { value: 100, time: 1000, start: 500 };
  it.each([
    ['a higher value', { value: 110, time: 2000, start: 500 }, 'went on'],
    ['a higher value of another start', { value: 110, time: 2000, start: 1500 }, 'went on'],
    ['a higher value of the same time', { value: 110, time: 1000, start: 500 }, 'went on'],
    ['a higher value of an older time: the clock stepped', { value: 110, time: 400, start: 500 }, 'went on'],
    ['a higher value of an earlier process', { value: 110, time: 400, start: 100 }, 'nothing new'],
    ['a lower value', { value: 90, time: 2000, start: 500 }, 'began anew'],
    ['a lower value without a time', { value: 90, time: NONE, start: NONE }, 'began anew'],
    ['a lower value of an older time: it is late', { value: 90, time: 900, start: 500 }, 'nothing new'],
    ['a lower value of the same time', { value: 90, time: 1000, start: 500 }, 'nothing new'],
    ['a lower value of an older time and a newer start', { value: 9, time: 900, start: 800 }, 'began anew'],
  ] as const)('judges %s', (_, pushed, change) => {
    expect(changeInPush(last, pushed, false)).toBe(change);
  });

  it('began anew by a clock that was set back, once two pushes kept pace with our clock', () => {
    const play = (...pushes: [time: number, monotonic: number, reading: number][]): boolean => {
      let clock: SenderClock | undefined;
      for (const [time, monotonic, reading] of pushes)
        clock = nextSenderClock(clock, { time, monotonic, reading });
      return clock?.isConfirmed ?? false;
    };
    expect(play([100, 0, 1])).toBe(false);
    expect(play([100, 0, 1], [10_100, 9500, 2])).toBe(true);
    expect(play([100, 0, 1], [10_100, 9500, 3])).toBe(false);
    expect(play([100, 0, 1], [10_100, 50, 2], [20_100, 60, 3])).toBe(false);
    expect(play([100, 0, 1], [10_100, 9500, 2], [10_100, 9500, 2])).toBe(true);
    expect(play([100, 0, 1], [10_100, 9500, 2], [40_100, 39_500, 5])).toBe(true);
    expect(changeInPush(last, { value: 9, time: 100, start: NONE }, true)).toBe('began anew');
    expect(changeInPush(last, { value: 110, time: 400, start: 100 }, true)).toBe('went on');
  });
});

describe('a time that claims a restart', () => {
  const known = { lastStart: 1000, now: 100_000, sinceMs: 10_000 };
  it.each([
    ['lies after the last reading', 95_000, true],
    ['lies before the last reading', 85_000, false],
    ['did not move', 1000, false],
    ['is none', NONE, false],
  ])('does so only when it is new: %s', (_, start, claims) => {
    expect(claimsRestart({ ...known, start })).toBe(claims);
  });

  it('holds when a counter fell or none goes on', () => {
    expect(isRestart({ fell: true, wentOn: true })).toBe(true);
    expect(isRestart({ fell: false, wentOn: false })).toBe(true);
    expect(isRestart({ fell: false, wentOn: true })).toBe(false);
    expect(goesOn(5_000_250, 5_000_300)).toBe(true);
    expect([goesOn(5, 9), goesOn(0, 0), goesOn(10, 9)]).toEqual([false, false, false]);
  });
});
