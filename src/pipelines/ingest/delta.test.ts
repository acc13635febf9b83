import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { delta, firstDelta, isLate } from './delta.ts';

const count = fc.nat(1_000_000);

describe('counter rules', () => {
  it('adds up to everything that was counted, over any number of restarts', () => {
    const step = fc.record({ counted: count, restarts: fc.boolean() });
    fc.assert(
      fc.property(fc.array(step), steps => {
        let raw = 0;
        let total = 0;
        for (const { counted, restarts } of steps) {
          const before = raw;
          raw = restarts ? counted : raw + counted;
          total += delta(before, raw, restarts);
        }
        expect(total).toBe(steps.reduce((sum, { counted }) => sum + counted, 0));
      }),
    );
  });

  it('takes a counter that fell as one that began again', () => {
    fc.assert(
      fc.property(count, count, (a, b) => {
        const [small, large] = [Math.min(a, b), Math.max(a, b) + 1];
        expect(delta(large, small, false)).toBe(small);
        expect(delta(small, large, false)).toBe(large - small);
      }),
    );
  });

  it('counts a newborn series in full, and begins with one met together with its instance', () => {
    expect(firstDelta(7, true)).toBe(7);
    expect(firstDelta(7, false)).toBe(0);
  });

  it.each([
    ['the same time', 1000, 1000, true, true],
    ['an older time', 1000, 900, false, true],
    ['an older time on a value that grew: the clock of the sender stepped back', 1000, 900, true, false],
    ['a newer time', 1000, 1001, false, false],
    ['no time', 1000, Number.NaN, false, false],
    ['no time before', Number.NaN, 900, false, false],
  ])('judges %s', (_, last, time, grew, late) => {
    expect(isLate(last, time, grew)).toBe(late);
  });
});
