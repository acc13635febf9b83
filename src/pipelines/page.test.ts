import { expect, it } from 'vitest';
import { systemClock } from '../lib/clock.ts';
import { silentLogger } from '../lib/logger.ts';
import { ruleLookup } from './engines/profile.ts';
import { vector } from './engines/vector.ts';
import { createFeed, dropFeed, type Feed } from './feed.ts';
import { createIntake } from './intake.ts';
import { createPageReader } from './page.ts';
import { createRoom } from './room.ts';
import { createRows } from './rows.ts';
import { createSlots } from './slots.ts';

const rows = createRows(systemClock, 100);
const slots = createSlots(100);
const intake = createIntake({ clock: systemClock, rows, slots });

const feedOf = (pipeline: string): Feed =>
  createFeed(
    'host',
    {
      pipeline: { pipeline, group: 'default', engine: 'vector' },
      room: createRoom({
        limits: { maxComponents: 100, maxSeries: 100 },
        clock: systemClock,
        logger: silentLogger,
        refused: () => {},
      }),
      partial: false,
    },
    slots,
  );

const page = (events: number, ...ids: readonly string[]): Buffer =>
  Buffer.from(
    ids
      .map(
        id =>
          `vector_component_received_events_total{component_id="${id}",component_kind="source",component_type="syslog"} ${events}\n`,
      )
      .join(''),
  );

const eventsOf = (pipeline: string, id: string): number | undefined =>
  rows.find(pipeline, 'input', 'syslog', id)?.totals[0];

it('counts each series as its own, whatever becomes of the order of the page', () => {
  const read = createPageReader({ profile: vector, rulesOf: ruleLookup(vector), intake });
  const feed = feedOf('order');
  const orders = [['a', 'b', 'c'], ['a', 'b', 'c'], ['c', 'a', 'b'], ['b'], ['b', 'd', 'a', 'c']];
  for (const [at, ids] of orders.entries()) read(feed, page(100 + at, ...ids), false);
  // What was missing from a page counted from 0 when it came back, and what came late was born.
  expect(['a', 'b', 'c', 'd'].map(id => eventsOf('order', id))).toEqual([2 + 104, 4, 2 + 104, 104]);
});

it("takes no slot for its own that was given back and is another feed's by now", () => {
  const read = createPageReader({ profile: vector, rulesOf: ruleLookup(vector), intake });
  const [former, other] = [feedOf('former'), feedOf('other')];
  read(former, page(10, 'a'), false);
  dropFeed(former, slots);
  createPageReader({ profile: vector, rulesOf: ruleLookup(vector), intake })(other, page(1000, 'a'), false);
  read(former, page(30, 'a'), false);
  read(former, page(35, 'a'), false);
  expect(eventsOf('other', 'a')).toBe(0);
  expect(eventsOf('former', 'a')).toBe(5);
});
