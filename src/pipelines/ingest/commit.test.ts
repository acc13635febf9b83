import { describe, expect, it } from 'vitest';
import { idsAtOnce } from '../../../test/helpers/component-ids.ts';
import { silentLogger } from '../../lib/logger.ts';
import { atOnce, type Slices } from '../../lib/slices.ts';
import { createCardinalityLimit } from '../components/limits.ts';
import { createComponentRegistry } from '../components/registry.ts';
import { describeComponents } from '../components/status.ts';
import { customProfile } from '../engines/custom.ts';
import { ruleLookup } from '../engines/profile.ts';
import { createTextPageReader } from '../scrape/page-reader.ts';
import { createSeriesStore } from '../series/series-store.ts';
import { createIngester } from './ingester.ts';
import { createScrapeSource, dropScrapeSource } from './source.ts';

const COUNT = 200;
const profile = customProfile([{ match: '^in$', id: 'id', kind: 'input', metric: 'in_events' }]);

/** A page in which each input stands at the same count. */
const page = (events: number, more = ''): Buffer =>
  Buffer.from(Array.from({ length: COUNT }, (_, at) => `in{id="c${at}"} ${events}\n`).join('') + more);

/** The clock is some time later each time that it is asked, so that work has many slices. */
function tickingClock() {
  let ms = 1000;
  return {
    now: () => 1_700_000_000_000 + ms,
    monotonic: () => {
      ms++;
      return ms;
    },
    uptime: () => ms,
    unobservedMs: () => 0,
    after: () => () => {},
    sleep: () => new Promise<void>(() => {}),
    stop: async () => {},
  };
}

function bench() {
  const clock = tickingClock();
  const registry = createComponentRegistry({ clock, limit: 1000, ids: idsAtOnce() });
  const store = createSeriesStore(2000);
  const ingester = createIngester({ clock, registry, store });
  // Without a clock of its own the page is read in one slice, so that all others are the commit's.
  const createReader = () => createTextPageReader({ profile, rulesOf: ruleLookup(profile), ingester });
  const limit = createCardinalityLimit({
    limits: { maxComponents: 1000, maxSeries: 2000 },
    clock,
    logger: silentLogger,
    refused: () => {},
  });
  const pipeline = { pipeline: 'edge', group: 'default', engine: 'custom' };
  const sourceOf = (name: string) =>
    createScrapeSource(name, { pipeline, limit, partial: false, noted: () => {} }, store);
  const components = describeComponents(registry, clock, { whyUnread: () => undefined, unreadMs: () => 0 });
  const [first, second] = [sourceOf('h:1'), sourceOf('h:2')];
  const readers = new Map([first, second].map(source => [source, createReader()]));
  return {
    store,
    registry,
    first,
    second,
    *read(text: Buffer, source = first): Slices {
      yield* readers.get(source)?.(source, text, false) ?? [];
    },
    /** What there is to see of the inputs, each of it once. */
    shown: () => ({
      in_events: seen(({ metrics }) => metrics.in_events),
      health: seen(({ health }) => health),
      presence: seen(({ presence }) => presence),
      hadData: seen(({ lastDataAt }) => lastDataAt !== null),
    }),
  };

  function seen(of: (status: ReturnType<typeof components.status>) => unknown): unknown[] {
    return [...new Set(registry.all().map(component => of(components.status(component))))];
  }
}

const all = (events: number) => ({
  in_events: [events],
  health: ['Green'],
  presence: ['present'],
  hadData: [events > 0],
});

describe('a reading of many components', () => {
  it('is committed in slices, and is there for readers from the first of them on', () => {
    const { read, shown, registry } = bench();
    atOnce(read(page(5)));
    expect(shown()).toEqual(all(0));
    const work = read(page(8));
    let slices = 0;
    for (; work.next().done !== true; slices++) {
      // What was not read by anybody yet is committed by the work, and what was not a second time.
      if (slices === 3) expect(shown()).toEqual(all(3));
    }
    expect(slices).toBeGreaterThan(10);
    expect(registry.unsettled.size).toBe(0);
    expect(shown()).toEqual(all(3));
  });

  it('is counted once beside one of another instance that comes meanwhile', () => {
    const { read, shown, second } = bench();
    atOnce(read(page(5)));
    atOnce(read(page(50), second));
    const one = read(page(8));
    one.next();
    const other = read(page(70), second);
    other.next();
    expect(shown()).toEqual(all(23));
    for (let isOver = false; !isOver; )
      isOver = [one.next(), other.next()].every(({ done }) => done === true);
    expect(shown()).toEqual(all(23));
  });

  it('is counted as a whole when the work on it is ended', () => {
    const { read, shown, registry } = bench();
    atOnce(read(page(5)));
    const work = read(page(8));
    work.next();
    work.return(undefined);
    expect(registry.unsettled.size).toBe(0);
    expect(shown()).toEqual(all(3));
  });

  it('is counted as a whole when its source is dropped meanwhile', () => {
    const { read, shown, first, second, store } = bench();
    atOnce(read(page(5)));
    atOnce(read(page(5), second));
    const work = read(page(8));
    work.next();
    dropScrapeSource(first, store);
    expect(shown()).toEqual(all(3));
    atOnce(work);
    expect(shown()).toEqual(all(3));
  });

  it('is committed before the next one of the same source begins', () => {
    const { read, shown } = bench();
    atOnce(read(page(5)));
    read(page(8)).next();
    atOnce(read(page(10)));
    expect(shown()).toEqual(all(5));
  });

  it('keeps what a line that cannot be read may have been, however many series there are', () => {
    const { read, shown } = bench();
    atOnce(read(page(5, 'in{id="lost"} 100\n')));
    atOnce(read(page(6, 'in{id="lost"\n')));
    atOnce(read(page(7, 'in{id="lost"} 102\n')));
    expect(shown()).toEqual({ ...all(2), in_events: [2] });
  });
});
