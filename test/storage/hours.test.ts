import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { silentLogger } from '../../src/lib/logger.ts';
import type { Component } from '../../src/pipelines/components/component.ts';
import type { HourValues } from '../../src/pipelines/history/hour-codec.ts';
import { encodeMinute, type MinuteValues } from '../../src/pipelines/history/minute-codec.ts';
import { readHours, readHoursUntilNow } from '../../src/pipelines/history/reader.ts';
import { createHourKeeper, type HourKeeper } from '../../src/pipelines/history/recorder.ts';
import {
  componentHash,
  HOUR_MS,
  MINUTE_MS,
  minutesId,
  rowStarts,
} from '../../src/pipelines/history/row-ids.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { HOURS_PER_ROW } from '../../src/storage/stores/hours.ts';
import { type TestClock, testClock } from '../helpers/clock.ts';
import { testComponents } from '../helpers/components.ts';
import { until } from '../helpers/until.ts';
import type { TestDatabase } from './contract.ts';
import { dialects } from './dialects.ts';

const BEGIN = Date.UTC(2026, 0, 1);
const hour = (number: number): number => BEGIN + number * HOUR_MS;

describe.each(dialects)('hours on $name', dialect => {
  let database: TestDatabase;
  let storage: Storage;
  let clock: TestClock;
  let components: readonly Component[];
  const running: HourKeeper[] = [];

  beforeEach(async () => {
    clock = testClock(BEGIN);
    database = await dialect.create();
    storage = await database.open(testClock());
    const known = testComponents(clock);
    components = [known.add('app'), known.add('other')];
  });
  afterEach(async () => {
    await Promise.all(running.splice(0).map(keeper => keeper.stop()));
    await storage.close();
    await database.remove();
  });

  const stores = () => storage.in('default');
  const component = (): Component => {
    const [first] = components;
    if (first === undefined) throw new Error('there is none');
    return first;
  };

  /** Records minutes of an hour, by their numbers. */
  const record = (
    start: number,
    minutes: Readonly<Record<number, MinuteValues>>,
    of: readonly Component[] = [component()],
  ) =>
    storage.transaction(tx =>
      tx.in('default').appendMinutes(
        of.map(one => ({
          id: minutesId(start, one),
          hour: start,
          data: Object.entries(minutes)
            .map(([number, values]) => encodeMinute(Number(number), values))
            .join(''),
        })),
      ),
    );

  function startKeeper(
    openSeconds: ReadonlyMap<string, number> = new Map(),
    fault?: () => Error | undefined,
  ) {
    const keeper = createHourKeeper({
      minutes: stores().minutes,
      transaction: work =>
        storage.transaction(async tx => {
          const result = await work(tx.in('default'));
          const error = fault?.();
          if (error !== undefined) throw error;
          return result;
        }),
      openSeconds: async () => openSeconds,
      clock,
      logger: silentLogger,
    });
    keeper.start();
    running.push(keeper);
    return keeper;
  }

  /** Until every minute before the hour is in its hour; the disk is real. */
  const kept = (before: number) =>
    until(async () => {
      await clock.advance(1000);
      return (await stores().minutes.firstHourToKeep(before)) === undefined;
    }, 'hours that are kept');

  async function read(from: number, end: number): Promise<[number, HourValues][]> {
    const all: [number, HourValues][] = [];
    for await (const some of readHours(stores().hours, components, { start: from, end }))
      for (const { startedAt, values } of some) all.push([startedAt, values]);
    return all;
  }

  it('are made of the minutes of an hour that is over, and only of those that were recorded', async () => {
    const minutes = {
      3: { health: 0, in_events: 5, queue_size: 7, up: 1, queue_capacity: 100 },
      1: { health: 2, in_events: 2, queue_size: 9, up: 0, queue_capacity: 50 },
      9: { health: 0, in_events: 0, queue_size: 1, up: 1, queue_capacity: 100 },
    };
    await record(hour(0), minutes);
    await record(hour(1), { 0: { in_events: 4 } });
    startKeeper(new Map([[componentHash(component()), 90]]));
    clock.step(HOUR_MS + 2 * MINUTE_MS);
    await kept(hour(1));
    expect(await read(hour(0), hour(24))).toEqual([
      [
        hour(0),
        {
          minutes: 3,
          last_data: hour(0) + 3 * MINUTE_MS,
          open_seconds: 90,
          health: 2,
          in_events: 7,
          queue_size: 9,
          up: 0,
          queue_capacity: 100,
        },
      ],
    ]);
  });

  it('are the same after a minute that comes late, a restart and a transaction that failed', async () => {
    await record(hour(0), { 0: { in_events: 5 } });
    clock.step(2 * HOUR_MS);
    await startKeeper().stop();
    let faults = 1;
    const keeper = startKeeper(new Map(), () => (faults-- > 0 ? new Error('the disk is full') : undefined));
    await kept(hour(1));
    await keeper.stop();
    expect(faults).toBeLessThan(1);
    const once = await read(hour(0), hour(1));
    expect(once).toMatchObject([[hour(0), { in_events: 5, minutes: 1 }]]);
    startKeeper();
    await clock.advance(10 * MINUTE_MS);
    expect(await read(hour(0), hour(1))).toEqual(once);
    await record(hour(0), { 59: { in_events: 7 } });
    await kept(hour(1));
    expect(await read(hour(0), hour(1))).toMatchObject([[hour(0), { in_events: 12, minutes: 2 }]]);
  });

  it('go over a gap, and over the end of a row', async () => {
    for (const at of [0, 5, 239, 240, 500]) await record(hour(at), { 0: { in_events: at } });
    clock.step(501 * HOUR_MS);
    startKeeper();
    await kept(hour(500));
    const found = await read(hour(0), hour(501));
    expect(found.map(([at, { in_events }]) => [at, in_events])).toEqual(
      [0, 5, 239, 240].map(at => [hour(at), at]),
    );
  });

  it('are kept of many components in several transactions', async () => {
    const known = testComponents(clock);
    components = Array.from({ length: 120 }, (_, at) => known.add(`in${at}`));
    await record(hour(0), { 0: { in_events: 1 } }, components);
    clock.step(2 * HOUR_MS);
    startKeeper();
    await kept(hour(1));
    expect(await read(hour(0), hour(1))).toHaveLength(120);
  });

  it('are read with the minutes of hours that are not kept yet', async () => {
    await record(hour(0), { 0: { in_events: 5 } });
    await record(hour(1), { 58: { in_events: 7 }, 59: { in_events: 0 } });
    clock.step(2 * HOUR_MS + MINUTE_MS);
    startKeeper();
    await kept(hour(1));
    const found: unknown[] = [];
    const span = { start: hour(0), end: clock.now() };
    for await (const some of readHoursUntilNow(stores(), components, { span, now: clock.now() }))
      for (const { startedAt, values } of some) found.push([startedAt, values]);
    expect(found).toEqual([
      [hour(0), { minutes: 1, in_events: 5, last_data: hour(0), open_seconds: 0 }],
      [hour(1) + 58 * MINUTE_MS, { minutes: 1, in_events: 7, last_data: hour(1) + 58 * MINUTE_MS }],
      [hour(1) + 59 * MINUTE_MS, { minutes: 1, in_events: 0 }],
    ]);
  });

  it('outlast their minutes, which stay until they are kept, and expire row by row', async () => {
    await record(hour(0), { 0: { in_events: 5 } });
    const expired = async (kind: 'minutes' | 'hours', before: number) =>
      (await stores().retention.findExpired(kind, { before, after: '', limit: 10 })).ids.length;
    expect(await expired('minutes', hour(2))).toBe(0);
    expect(await expired('minutes', hour(25))).toBe(1);
    clock.step(2 * HOUR_MS);
    startKeeper();
    await kept(hour(1));
    expect(await expired('minutes', hour(2))).toBe(1);
    const [rowStart = 0] = rowStarts(hour(0), hour(1));
    const end = rowStart + HOURS_PER_ROW * HOUR_MS;
    expect(await expired('hours', end - 1)).toBe(0);
    expect(await expired('hours', end)).toBe(1);
  });
});
