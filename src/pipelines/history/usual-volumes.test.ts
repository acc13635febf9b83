import { expect, it } from 'vitest';
import { testClock } from '../../../test/helpers/clock.ts';
import { testComponents } from '../../../test/helpers/components.ts';
import { until } from '../../../test/helpers/until.ts';
import { silentLogger } from '../../lib/logger.ts';
import type { WorkspaceStorage } from '../../storage/storage.ts';
import type { HoursRow } from '../../storage/stores/hours.ts';
import type { Component } from '../components/component.ts';
import { encodeHours, type HourValues } from './hour-codec.ts';
import { componentHash, HOUR_MS, hourPlace, MINUTE_MS } from './row-ids.ts';
import { createUsualVolumes, PastVolumes, readVolumes } from './usual-volumes.ts';

const NOW = Date.UTC(2026, 2, 1, 12);
const WINDOW = { windowMs: HOUR_MS, timezone: 'UTC' };

/** The hours of a component, `valuesOf` by how many hours ago they began. */
function rowsOf(component: Component, valuesOf: (ago: number) => HourValues | undefined): HoursRow[] {
  const rows = new Map<string, { start: number; hours: Map<number, HourValues> }>();
  for (let ago = 1; ago <= 30 * 24; ago++) {
    const values = valuesOf(ago);
    if (values === undefined) continue;
    const { id, start, number } = hourPlace(NOW - ago * HOUR_MS, componentHash(component));
    const row = rows.get(id) ?? { start, hours: new Map() };
    rows.set(id, row);
    row.hours.set(number, values);
  }
  return [...rows].map(([id, { start, hours }]) => ({ id, start, data: encodeHours(hours) }));
}

function bench(valuesOf: (ago: number) => HourValues | undefined) {
  const clock = testClock(NOW);
  const app = testComponents(clock).add('app');
  const rows = rowsOf(app, valuesOf);
  const reads = { count: 0, failing: false };
  const hours: WorkspaceStorage['hours'] = {
    async byIds(ids) {
      reads.count += 1;
      if (reads.failing) throw new Error('the disk is gone');
      return rows.filter(({ id }) => ids.includes(id));
    },
  };
  const volumes = createUsualVolumes({ hours, clock, logger: silentLogger });
  const ask = () => volumes.usual(app, 'in_events', WINDOW);
  const known = async () => {
    await until(() => ask() !== undefined, 'the hours');
    return ask();
  };
  return { clock, app, hours, volumes, reads, ask, known };
}

it('reads the hours once for each hour, and knows what the time of day usually brings', async () => {
  const { clock, reads, ask, known } = bench(ago => ({ minutes: 60, in_events: 100 * (ago % 24) }));
  expect(ask()).toBeUndefined();
  // The first slot of the hour looks 2.5 minutes into it: at the hours that began 1 and 24 hours before.
  const first = await known();
  expect(first?.median).toBeCloseTo(100 * (1 - 2.5 / 60), 5);
  expect(first).toMatchObject({ deviation: 0, days: 28 });
  const before = reads.count;
  await clock.advance(59 * MINUTE_MS);
  expect(ask()?.median).toBeCloseTo(100 * (2.5 / 60), 5);
  expect(reads.count).toBe(before);
  await clock.advance(2 * MINUTE_MS);
  const stale = ask();
  expect(stale).toBeDefined();
  await until(() => ask()?.median !== stale?.median, 'the next hour');
  expect(reads.count).toBeGreaterThan(before);
});

it('leaves out hours with gaps and days without', async () => {
  const { known } = bench(ago => {
    const day = Math.ceil(ago / 24);
    if (day > 6) return undefined;
    return { minutes: day === 2 ? 53 : 54, in_events: day === 2 ? 1 : 10 };
  });
  // Each window reaches into the day before; those of three days are whole.
  expect(await known()).toMatchObject({ median: 10, days: 3 });
});

it('knows of no day when the metric was never recorded', async () => {
  const { known } = bench(() => ({ minutes: 60, in_bytes: 5 }));
  expect(await known()).toEqual({ median: 0, deviation: 0, days: 0 });
});

it('knows afterwards what it knew at each minute', async () => {
  const { clock, app, hours, ask, known } = bench(ago => ({
    minutes: ago % 50 === 0 ? 10 : 60,
    in_events: (ago * 37) % 101,
  }));
  await known();
  const past = new PastVolumes(await readVolumes(hours, [app], { from: NOW, to: NOW + HOUR_MS }), [app]);
  for (let minute = 0; minute < 59; minute++) {
    expect(past.usual(app, 'in_events', WINDOW, clock.now())).toMatchObject({ ...ask() });
    await clock.advance(MINUTE_MS);
  }
  expect(past.usual(app, 'in_bytes', WINDOW, NOW)).toMatchObject({ days: 0 });
});

it('asks again after a failure, and not after its stop', async () => {
  const { reads, ask, known, volumes } = bench(() => ({ minutes: 60, in_events: 5 }));
  reads.failing = true;
  ask();
  await until(() => {
    ask();
    return reads.count > 1;
  }, 'a second read');
  reads.failing = false;
  expect(await known()).toMatchObject({ median: 5 });
  await volumes.stop();
  const { count } = reads;
  volumes.usual({ ...testComponents(testClock()).add('other') }, 'in_events', WINDOW);
  expect(reads.count).toBe(count);
});
