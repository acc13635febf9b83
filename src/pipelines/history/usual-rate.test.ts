import { expect, test } from 'vitest';
import { settle, testClock } from '../../../test/helpers/clock.ts';
import { testComponents } from '../../../test/helpers/components.ts';
import type { MinutesRow } from '../../storage/stores/minutes.ts';
import type { Component } from '../components/component.ts';
import { encodeMinute, type MinuteValues } from './minute-codec.ts';
import { HOUR_MS, minutesId } from './row-ids.ts';
import { createUsualRates } from './usual-rate.ts';

const NOON = Date.UTC(2026, 0, 2, 12);

function bench() {
  const clock = testClock(NOON);
  const known = testComponents(clock);
  const rows = new Map<string, MinutesRow>();
  const reads: number[] = [];
  const fault = { hangs: false, fails: false };
  const usualRates = createUsualRates({
    clock,
    async read(ids) {
      reads.push(ids.length);
      if (fault.fails) throw new Error('the store is closed');
      if (fault.hangs) await new Promise(() => {});
      return ids.flatMap(id => rows.get(id) ?? []);
    },
  });
  /** Records whole hours of a component, each minute with the same values. */
  const record = (component: Component, hoursAgo: number, values: MinuteValues, minutes = 60) => {
    const hour = NOON - hoursAgo * HOUR_MS;
    const data = Array.from({ length: minutes }, (_, minute) => encodeMinute(minute, values)).join('');
    rows.set(minutesId(hour, component), { id: minutesId(hour, component), hour, data });
  };
  return { clock, known, usualRates, record, reads, fault };
}

test('what is usual is the mean of the last 24 hours, of the minutes that are known', async () => {
  const { known, usualRates, record } = bench();
  const app = known.add('app');
  record(app, 30, { in_events: 1_000_000 });
  record(app, 24, { in_events: 600, in_bytes: 60_000 });
  record(app, 1, { in_events: 0, in_bytes: 0, out_events: 7 });
  expect(await usualRates(app)).toEqual({ eventsPerSecond: 5, bytesPerSecond: 500 });
  expect(await usualRates({ ...app, kind: 'output' })).toBeUndefined();
});

test('of less than an hour nothing is usual, and nothing is where nothing was recorded', async () => {
  const { known, usualRates, record } = bench();
  const app = known.add('app');
  record(app, 1, { in_events: 60 }, 59);
  expect(await usualRates(app)).toBeUndefined();
  expect(await usualRates(known.add('other'))).toBeUndefined();
});

test('what is asked for at once is read together, and of a flood only a part', async () => {
  const { known, usualRates, record, reads } = bench();
  const all = Array.from({ length: 300 }, (_, index) => known.add(`in${index}`));
  for (const one of all) record(one, 1, { in_events: 60 });
  const answers = await Promise.all(all.map(usualRates));
  expect(answers.filter(answer => answer?.eventsPerSecond === 1)).toHaveLength(200);
  expect([reads.length, Math.max(...reads)]).toEqual([10, 500]);
});

test('an alarm waits two seconds for it at most, and goes without it when the store fails', async () => {
  const { clock, known, usualRates, record, fault } = bench();
  const app = known.add('app');
  record(app, 1, { in_events: 60 });
  fault.fails = true;
  expect(await usualRates(app)).toBeUndefined();
  Object.assign(fault, { fails: false, hangs: true });
  const answers: unknown[] = [];
  void usualRates(app).then(rate => answers.push(rate));
  await clock.advance(1999);
  await settle();
  expect(answers).toEqual([]);
  await clock.advance(1);
  expect(answers).toEqual([undefined]);
});
