import fc from 'fast-check';
import { expect, it } from 'vitest';
import { HOUR_MS, MINUTE_MS } from './row-ids.ts';
import { medianOf, USUAL_DAYS, usualAt } from './usual-volumes.ts';

const DAY_MS = 24 * HOUR_MS;
const BEGIN = Date.UTC(2026, 0, 1);
const HOURS = 40 * 24;

/** Minute by minute, each with a sixtieth of its hour, and the median by its definition. */
function naive(at: number, windowMs: number, values: readonly (number | undefined)[]) {
  const sums: number[] = [];
  for (let day = 1; day <= USUAL_DAYS; day++) {
    let sum = 0;
    for (let minute = at - day * DAY_MS - windowMs; minute < at - day * DAY_MS; minute += MINUTE_MS)
      sum += (values[Math.floor((minute - BEGIN) / HOUR_MS)] ?? Number.NaN) / 60;
    if (!Number.isNaN(sum)) sums.push(sum);
  }
  const middle = (all: readonly number[]): number => {
    const below = (limit: number) => all.filter(one => one < limit).length;
    const above = (limit: number) => all.filter(one => one > limit).length;
    const middles = all.filter(one => below(one) <= all.length / 2 && above(one) <= all.length / 2);
    return middles.length === 0 ? 0 : (Math.min(...middles) + Math.max(...middles)) / 2;
  };
  const median = middle(sums);
  return { median, deviation: middle(sums.map(sum => Math.abs(sum - median))), days: sums.length };
}

it('is the median of the same time on earlier days and of how far they are from it, gaps left out', () => {
  fc.assert(
    fc.property(
      fc.array(fc.option(fc.nat(100_000), { nil: undefined }), { minLength: HOURS, maxLength: HOURS }),
      fc.nat(10 * 24 * 60),
      fc.integer({ min: 5, max: 1440 }),
      (values, minutes, windowMinutes) => {
        const at = BEGIN + 30 * DAY_MS + minutes * MINUTE_MS;
        const windowMs = windowMinutes * MINUTE_MS;
        const found = usualAt(at, { windowMs, timezone: 'UTC' }, hour => values[(hour - BEGIN) / HOUR_MS]);
        const expected = naive(at, windowMs, values);
        expect(found.days).toBe(expected.days);
        expect(found.median).toBeCloseTo(expected.median, 3);
        expect(found.deviation).toBeCloseTo(expected.deviation, 3);
      },
    ),
    { numRuns: 30 },
  );
});

it.each([
  // The clocks go forward on 29 March 2026, at 1:00 UTC.
  ['Europe/Berlin', '2026-04-02T06:00:00Z', 8 * 60],
  // Back on 1 November, at 6:00 UTC.
  ['America/New_York', '2026-11-05T14:00:00Z', 9 * 60],
  // By half an hour on 4 April, at 15:00 UTC; hours of the clock are halves of two of UTC.
  ['Australia/Lord_Howe', '2026-04-10T22:30:00Z', 9 * 60],
])('follows the clock of %s over its change', (timezone, end, minuteOfDay) => {
  const clock = new Intl.DateTimeFormat('en', {
    ...{ timeZone: timezone, hourCycle: 'h23', hour: 'numeric', minute: 'numeric' },
  });
  /** 1,000 in the hour of the clock before the end, else 0. */
  const inHour = (hour: number): number => {
    let value = 0;
    for (let minute = hour; minute < hour + HOUR_MS; minute += MINUTE_MS) {
      const [hours = 0, minutes = 0] = clock.format(minute).split(':').map(Number);
      const passed = minuteOfDay - (hours * 60 + minutes);
      if (passed > 0 && passed <= 60) value += 1000 / 60;
    }
    return value;
  };
  const usual = usualAt(Date.parse(end), { windowMs: HOUR_MS, timezone }, inHour);
  expect(usual.days).toBe(USUAL_DAYS);
  expect(usual.median).toBeCloseTo(1000, 5);
  const inUtc = usualAt(Date.parse(end), { windowMs: HOUR_MS, timezone: 'UTC' }, inHour);
  expect(inUtc.median).toBeLessThan(usual.median);
});

it('is nothing where nothing was recorded, and of an even number the middle of two', () => {
  const window = { windowMs: HOUR_MS, timezone: 'UTC' };
  expect(usualAt(BEGIN, window, () => undefined)).toEqual({ median: 0, deviation: 0, days: 0 });
  expect([medianOf([3, 1, 2]), medianOf([4, 1, 2, 3]), medianOf([])]).toEqual([2, 2.5, 0]);
});
