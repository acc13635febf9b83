import { expect, it } from 'vitest';
import { systemClock } from '../../lib/clock.ts';
import { silentLogger } from '../../lib/logger.ts';
import { createCardinalityLimit } from '../components/limits.ts';
import { createComponentRegistry } from '../components/registry.ts';
import { ruleLookup } from '../engines/profile.ts';
import { vector } from '../engines/vector.ts';
import { createIngester } from '../ingest/ingester.ts';
import { createScrapeSource, dropScrapeSource, type ScrapeSource } from '../ingest/source.ts';
import { createSeriesStore } from '../series/series-store.ts';
import { createTextPageReader } from './page-reader.ts';

const registry = createComponentRegistry(systemClock, 100);
const store = createSeriesStore(100);
const ingester = createIngester({ clock: { ...systemClock, unobservedMs: () => 0 }, registry, store });

const feedOf = (pipeline: string): ScrapeSource =>
  createScrapeSource(
    'host',
    {
      pipeline: { pipeline, group: 'default', engine: 'vector' },
      limit: createCardinalityLimit({
        limits: { maxComponents: 100, maxSeries: 100 },
        clock: systemClock,
        logger: silentLogger,
        refused: () => {},
      }),
      partial: false,
    },
    store,
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
  registry.find(pipeline, 'input', 'syslog', id)?.totals[0];

it('counts each series as its own, whatever becomes of the order of the page', () => {
  const read = createTextPageReader({ profile: vector, rulesOf: ruleLookup(vector), ingester });
  const source = feedOf('order');
  const orders = [['a', 'b', 'c'], ['a', 'b', 'c'], ['c', 'a', 'b'], ['b'], ['b', 'd', 'a', 'c']];
  for (const [at, ids] of orders.entries()) read(source, page(100 + at, ...ids), false);
  // What was missing from a page counted from 0 when it came back, and one that came late began in between.
  expect(['a', 'b', 'c', 'd'].map(id => eventsOf('order', id))).toEqual([2 + 104, 4, 2 + 104, 104]);
});

it("uses no entry that was released and is another source's by now", () => {
  const read = createTextPageReader({ profile: vector, rulesOf: ruleLookup(vector), ingester });
  const [former, other] = [feedOf('former'), feedOf('other')];
  read(former, page(10, 'a'), false);
  dropScrapeSource(former, store);
  createTextPageReader({ profile: vector, rulesOf: ruleLookup(vector), ingester })(
    other,
    page(1000, 'a'),
    false,
  );
  read(former, page(30, 'a'), false);
  read(former, page(35, 'a'), false);
  expect(eventsOf('other', 'a')).toBe(0);
  expect(eventsOf('former', 'a')).toBe(5);
});
