import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createIntervalStore, type IntervalVerdict } from './interval-store.ts';

const DAY = 86_400_000;

function take(...intervals: [start: number, end: number][]): IntervalVerdict[] {
  const store = createIntervalStore();
  const slot = store.allocate(Number.NaN);
  return intervals.map(([start, end]) => store.take(slot, start, end));
}

describe('intervals of increases', () => {
  it('are new in any order, and repeated only as they were', () => {
    expect(take([0, 10], [20, 30], [10, 20], [30, 40], [20, 30])).toEqual([
      'new',
      'new',
      'new',
      'new',
      'repeated',
    ]);
  });

  it('overlap by a part, from within and from around', () => {
    expect(take([10, 20], [15, 25], [12, 14], [0, 30], [5, 15], [20, 30])).toEqual([
      'new',
      'overlapping',
      'overlapping',
      'overlapping',
      'overlapping',
      'new',
    ]);
  });

  it('without a start are repeated by the same time only', () => {
    const none = Number.NaN;
    expect(take([none, 30], [none, 10], [none, 20], [none, 10], [30, 30])).toEqual([
      'new',
      'new',
      'new',
      'repeated',
      'repeated',
    ]);
  });

  it('are outdated before the latest 64, and before what an earlier process took', () => {
    const store = createIntervalStore();
    const slot = store.allocate(Number.NaN);
    for (let at = 1; at <= 65; at++) expect(store.take(slot, at * 10, at * 10 + 10)).toBe('new');
    expect(store.take(slot, 0, 10)).toBe('outdated');
    expect(store.take(slot, 10, 20)).toBe('repeated');
    expect(store.take(slot, 20, 30)).toBe('repeated');
    const restored = store.allocate(1000);
    expect(store.take(restored, 900, 1000)).toBe('repeated');
    expect(store.take(restored, 800, 900)).toBe('outdated');
    expect(store.take(restored, 1000, 1100)).toBe('new');
  });

  it('may lie months apart', () => {
    expect(take([0, 10], [90 * DAY, 90 * DAY + 10], [40 * DAY, 41 * DAY], [90 * DAY, 90 * DAY + 10])).toEqual(
      ['new', 'new', 'outdated', 'repeated'],
    );
    expect(take([90 * DAY, 91 * DAY], [0, 10], [60 * DAY, 61 * DAY], [61 * DAY, 62 * DAY])).toEqual([
      'new',
      'outdated',
      'new',
      'new',
    ]);
  });

  it('agree with a list that is searched from end to end, whatever comes', () => {
    const interval = fc
      .tuple(fc.integer({ min: 0, max: 400 }), fc.integer({ min: 1, max: 20 }))
      .map(([start, length]): [number, number] => [start * 10, (start + length) * 10]);
    fc.assert(
      fc.property(fc.array(interval, { maxLength: 200 }), intervals => {
        const store = createIntervalStore();
        const slot = store.allocate(Number.NaN);
        let kept: [number, number][] = [];
        let floor = Number.NEGATIVE_INFINITY;
        for (const [start, end] of intervals) {
          const verdict = store.take(slot, start, end);
          const isRepeated = end === floor || kept.some(([from, to]) => from === start && to === end);
          const overlaps = kept.some(([from, to]) => start < to && from < end);
          expect(verdict).toBe(
            isRepeated ? 'repeated' : overlaps ? 'overlapping' : start < floor ? 'outdated' : 'new',
          );
          if (verdict !== 'new') continue;
          kept = [...kept, [start, end] as [number, number]].sort((one, other) => one[1] - other[1]);
          if (kept.length > 64) floor = kept.shift()?.[1] ?? floor;
        }
      }),
    );
  });

  it('gives slots back', () => {
    const store = createIntervalStore();
    const slots = Array.from({ length: 300 }, () => store.allocate(Number.NaN));
    for (const slot of slots) store.take(slot, 0, 10);
    store.release(slots[7] ?? -1);
    expect(store.allocate(Number.NaN)).toBe(slots[7]);
    expect(store.take(slots[7] ?? -1, 0, 10)).toBe('new');
    expect(store.take(slots[8] ?? -1, 0, 10)).toBe('repeated');
  });
});
