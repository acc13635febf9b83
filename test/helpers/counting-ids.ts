import type { MonotonicIds } from '../../src/lib/ids.ts';

/** Ids that are the same in every run. */
export function countingIds(): MonotonicIds {
  let last = 0;
  return {
    advancePast: () => {},
    next() {
      last += 1;
      return `019b7754-b6e0-7000-8000-${String(last).padStart(12, '0')}`;
    },
  };
}
