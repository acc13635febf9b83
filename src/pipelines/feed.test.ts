import { describe, expect, it } from 'vitest';
import { testClock } from '../../test/helpers/clock.ts';
import { silentLogger } from '../lib/logger.ts';
import { customProfile } from './engines/custom.ts';
import { ruleLookup } from './engines/profile.ts';
import { createFeed, dropFeed, FORGET_MS, SWEEP_MS, sweepFeed } from './feed.ts';
import { createIntake } from './intake.ts';
import { createPageReader } from './page.ts';
import { createRoom } from './room.ts';
import { createRows } from './rows.ts';
import { createSlots } from './slots.ts';

const profile = customProfile([
  { match: '^in$', where: { dir: 'in' }, id: 'id', kind: 'input', metric: 'in_events' },
]);
const line = (id: string, file: string, dir = 'in'): string =>
  `in{id="${id}",dir="${dir}",file="${file}"} 1\n`;

function bench(limits: { components?: number; series?: number } = {}) {
  const clock = testClock();
  const rows = createRows(clock, limits.components ?? 100);
  const slots = createSlots(limits.series ?? 100);
  const refused: string[] = [];
  const intake = createIntake({ clock, rows, slots });
  const read = createPageReader({ profile, rulesOf: ruleLookup(profile), intake });
  const room = createRoom({
    limits: { maxComponents: 100, maxSeries: 100 },
    clock,
    logger: silentLogger,
    refused: what => refused.push(what),
  });
  const pipeline = { pipeline: 'edge', group: 'default', engine: 'custom' };
  const feed = createFeed('h:1', { pipeline, room, partial: false }, slots);
  return { clock, rows, slots, refused, feed, read: (text: string) => read(feed, Buffer.from(text), false) };
}

describe('sweepFeed', () => {
  it('lets go of series that were gone for a day, of use or not, and keeps the others', async () => {
    const { clock, slots, feed, read } = bench();
    read(line('a', 'old') + line('a', 'new') + line('b', 'x', 'out'));
    expect(slots.count).toBe(3);
    for (let ms = 0; ms <= FORGET_MS; ms += SWEEP_MS) {
      read(line('a', 'new'));
      sweepFeed(feed, slots, new Set(), clock.monotonic());
      await clock.advance(SWEEP_MS);
    }
    expect(slots.count).toBe(1);
    expect([...feed.series.heads()].map(feed.series.textOf)).toEqual([line('a', 'new').slice(0, -3)]);
  });

  it('keeps the series of an instance that cannot be read, for less than a day', async () => {
    const { clock, slots, feed, read } = bench();
    read(line('a', 'x'));
    await clock.advance(FORGET_MS - 1);
    sweepFeed(feed, slots, new Set(), clock.monotonic());
    expect(slots.count).toBe(1);
    await clock.advance(1);
    sweepFeed(feed, slots, new Set(), clock.monotonic());
    expect([slots.count, feed.instances.size, feed.active]).toEqual([0, 0, 0]);
  });
});

describe('limits', () => {
  it('refuses series beyond the limit, says so, and uses what is given back', () => {
    const { slots, refused, feed, rows, read } = bench({ series: 2 });
    read(line('a', '1') + line('a', '2') + line('b', '3'));
    expect([slots.count, refused]).toEqual([2, ['series']]);
    dropFeed(feed, slots);
    expect(slots.count).toBe(0);
    read(line('b', '3'));
    expect([slots.count, slots.replica.length]).toEqual([1, 2]);
    expect([...rows.all()].map(component => component.engineId)).toEqual(['a', 'b']);
  });

  it('refuses components beyond the limit and goes on with the ones it has', () => {
    const { refused, rows, read } = bench({ components: 1 });
    read(line('a', '1') + line('b', '1'));
    expect(rows.all().map(component => component.engineId)).toEqual(['a']);
    expect(refused).toEqual(['components']);
  });
});
