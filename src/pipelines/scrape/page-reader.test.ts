import { describe, expect, it } from 'vitest';
import { idsAtOnce } from '../../../test/helpers/component-ids.ts';
import { systemClock } from '../../lib/clock.ts';
import { silentLogger } from '../../lib/logger.ts';
import { atOnce } from '../../lib/slices.ts';
import { createCardinalityLimit } from '../components/limits.ts';
import { presenceOf } from '../components/presence.ts';
import { createComponentRegistry } from '../components/registry.ts';
import { fluentd } from '../engines/fluentd.ts';
import { type EngineProfile, ruleLookup } from '../engines/profile.ts';
import { vector } from '../engines/vector.ts';
import { createIngester } from '../ingest/ingester.ts';
import { createScrapeSource, dropScrapeSource, type ScrapeSource } from '../ingest/source.ts';
import type { JsonReader } from '../parsers/json-page.ts';
import { createSeriesStore } from '../series/series-store.ts';
import { createJsonPageReader, createTextPageReader, type PageReaderContext } from './page-reader.ts';

const registry = createComponentRegistry({ clock: systemClock, limit: 600, ids: idsAtOnce() });
const store = createSeriesStore(900);
const ingester = createIngester({ clock: { ...systemClock, unobservedMs: () => 0 }, registry, store });

const feedOf = (pipeline: string): ScrapeSource =>
  createScrapeSource(
    'host',
    {
      pipeline: { pipeline, group: 'default', engine: 'vector' },
      limit: createCardinalityLimit({
        limits: { maxComponents: 100, maxSeries: 200 },
        clock: systemClock,
        logger: silentLogger,
        refused: () => {},
      }),
      partial: false,
      noted: () => {},
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

const eventsOf = (pipeline: string, id: string, type = 'syslog'): number | undefined =>
  registry.find(pipeline, 'input', type, id)?.totals[0];

it('counts each series as its own, whatever becomes of the order of the page', () => {
  const read = createTextPageReader({ profile: vector, rulesOf: ruleLookup(vector), ingester });
  const source = feedOf('order');
  const orders = [['a', 'b', 'c'], ['a', 'b', 'c'], ['c', 'a', 'b'], ['b'], ['b', 'd', 'a', 'c']];
  for (const [at, ids] of orders.entries()) atOnce(read(source, page(100 * 2 ** at, ...ids), false));
  // What was missing from a page counted from 0 when it came back, and one that came late began in between.
  expect(['a', 'b', 'c', 'd'].map(id => eventsOf('order', id))).toEqual([300 + 1600, 1500, 300 + 1600, 1600]);
});

it("uses no entry that was released and is another source's by now", () => {
  const read = createTextPageReader({ profile: vector, rulesOf: ruleLookup(vector), ingester });
  const [former, other] = [feedOf('former'), feedOf('other')];
  atOnce(read(former, page(10, 'a'), false));
  dropScrapeSource(former, store);
  const another = createTextPageReader({ profile: vector, rulesOf: ruleLookup(vector), ingester });
  atOnce(another(other, page(1000, 'a'), false));
  atOnce(read(former, page(30, 'a'), false));
  atOnce(read(former, page(35, 'a'), false));
  expect(eventsOf('other', 'a')).toBe(0);
  expect(eventsOf('former', 'a')).toBe(5);
});

/** Looking at it takes a millisecond, so that a slice is some looks long. */
function slowClock() {
  let now = 0;
  return { monotonic: () => ++now };
}

const IDS = Array.from({ length: 60 }, (_, at) => `slice_${at}`);

/** Pages of the same inputs in which each stands beside so much else that slices end between them. */
const FORMATS = [
  {
    what: 'Prometheus text',
    type: 'syslog',
    create: (context: PageReaderContext) => createTextPageReader(context),
    profile: vector,
    wide: (events: number) =>
      Buffer.concat(IDS.map(id => Buffer.concat([page(events, id), Buffer.alloc(400, '#\n')]))),
  },
  {
    what: 'JSON',
    type: 'tail',
    create: (context: PageReaderContext) => createJsonPageReader(jsonReaderOf(fluentd), context),
    profile: fluentd,
    wide: (events: number) =>
      Buffer.from(
        JSON.stringify({
          plugins: IDS.flatMap(id => [
            ...Array.from({ length: 200 }, (_, at) => ({
              plugin_id: `f${at}`,
              plugin_category: 'filter',
              type: 'x',
            })),
            {
              plugin_id: id,
              plugin_category: 'input',
              type: 'tail',
              emit_records: events,
              emit_size: events,
            },
          ]),
        }),
      ),
  },
];

function jsonReaderOf({ createReader }: EngineProfile): JsonReader {
  if (createReader === undefined) throw new Error('the pages of this engine are no JSON');
  return createReader();
}

describe.each(FORMATS)('a page of $what that is read in slices', ({ create, profile, type, wide }) => {
  function start(name: string) {
    const pipeline = `${name} ${profile.engine}`;
    const read = create({ profile, rulesOf: ruleLookup(profile), ingester, clock: slowClock() });
    const source = feedOf(pipeline);
    const presences = () =>
      new Set(
        [...registry.inPipeline(pipeline)].map(
          state => presenceOf(state, systemClock.monotonic(), () => undefined).presence,
        ),
      );
    const totals = () => new Set(IDS.map(id => eventsOf(pipeline, id, type)));
    return { begin: (events: number) => read(source, wide(events), false), presences, totals };
  }

  it('lets others have their turn again and again, and counts as if it were read at once', () => {
    const { begin, presences, totals } = start('sliced');
    atOnce(begin(10));
    const work = begin(17);
    let slices = 0;
    while (work.next().done !== true) {
      slices++;
      expect(presences()).toEqual(new Set(['present']));
    }
    expect(slices).toBeGreaterThan(10);
    expect(totals()).toEqual(new Set([7]));
  });

  it('keeps what it has read when it is ended early, and takes what it has not read for gone on', () => {
    const { begin, totals } = start('ended');
    atOnce(begin(10));
    for (const parts of [1, 5, 15, 18]) {
      const work = begin(10 + parts);
      for (let at = 0; at < parts; at++) work.next();
      work.return({ bad: 0, fault: undefined });
    }
    atOnce(begin(40));
    expect(totals()).toEqual(new Set([30]));
  });
});
