import { describe, expect, it } from 'vitest';
import { testClock } from '../../../test/helpers/clock.ts';
import { idsAtOnce } from '../../../test/helpers/component-ids.ts';
import { silentLogger } from '../../lib/logger.ts';
import { atOnce } from '../../lib/slices.ts';
import { createCardinalityLimit } from '../components/limits.ts';
import { createComponentRegistry } from '../components/registry.ts';
import { customProfile } from '../engines/custom.ts';
import { ruleLookup } from '../engines/profile.ts';
import { createTextPageReader } from '../scrape/page-reader.ts';
import { createSeriesStore } from '../series/series-store.ts';
import { createIngester } from './ingester.ts';
import { createScrapeSource, dropScrapeSource, FORGET_MS, SWEEP_MS, sweepScrapeSource } from './source.ts';

const profile = customProfile([
  { match: '^in$', where: { dir: 'in' }, id: 'id', kind: 'input', metric: 'in_events' },
]);
const line = (id: string, file: string, dir = 'in'): string =>
  `in{id="${id}",dir="${dir}",file="${file}"} 1\n`;

function bench(limits: { components?: number; series?: number } = {}) {
  const clock = testClock();
  const registry = createComponentRegistry({ clock, limit: limits.components ?? 100, ids: idsAtOnce() });
  const store = createSeriesStore(limits.series ?? 100);
  const refused: string[] = [];
  const ingester = createIngester({ clock: { ...clock, unobservedMs: () => 0 }, registry, store });
  const read = createTextPageReader({ profile, rulesOf: ruleLookup(profile), ingester });
  const limit = createCardinalityLimit({
    limits: { maxComponents: 100, maxSeries: 100 },
    clock,
    logger: silentLogger,
    refused: what => refused.push(what),
  });
  const pipeline = { pipeline: 'edge', group: 'default', engine: 'custom' };
  const source = createScrapeSource('h:1', { pipeline, limit, partial: false, noted: () => {} }, store);
  return {
    clock,
    registry,
    store,
    refused,
    source,
    read: (text: string) => atOnce(read(source, Buffer.from(text), false)),
  };
}

describe('sweepScrapeSource', () => {
  it('lets go of series that were gone for a day, of use or not, and keeps the others', async () => {
    const { clock, store, source, read } = bench();
    read(line('a', 'old') + line('a', 'new') + line('b', 'x', 'out'));
    expect(store.count).toBe(3);
    for (let ms = 0; ms <= FORGET_MS; ms += SWEEP_MS) {
      read(line('a', 'new'));
      sweepScrapeSource(source, store, new Set(), clock.monotonic());
      await clock.advance(SWEEP_MS);
    }
    expect(store.count).toBe(1);
    expect(
      [...source.series.firstEntries()].map(
        entry => source.series.nameOf(entry) + source.series.labelsOf(entry),
      ),
    ).toEqual([line('a', 'new').slice(0, -3)]);
  });

  it('keeps the series of an instance that cannot be read, for less than a day', async () => {
    const { clock, store, source, read } = bench();
    read(line('a', 'x'));
    await clock.advance(FORGET_MS - 1);
    sweepScrapeSource(source, store, new Set(), clock.monotonic());
    expect(store.count).toBe(1);
    await clock.advance(1);
    sweepScrapeSource(source, store, new Set(), clock.monotonic());
    expect([store.count, source.instances.size, source.activeInstances]).toEqual([0, 0, 0]);
  });
});

describe('limits', () => {
  it('refuses series beyond the limit, says so, and uses what is given back', () => {
    const { store, refused, source, registry, read } = bench({ series: 2 });
    read(line('a', '1') + line('a', '2') + line('b', '3'));
    expect([store.count, refused]).toEqual([2, ['series']]);
    dropScrapeSource(source, store);
    expect(store.count).toBe(0);
    read(line('b', '3'));
    expect(store.count).toBe(1);
    // Of two entries there ever were, the free one is used again.
    expect(store.allocate(undefined, undefined, -1)).toBeLessThan(2);
    expect([...registry.all()].map(component => component.engineId)).toEqual(['a', 'b']);
  });

  it('refuses components beyond the limit and goes on with the ones it has', () => {
    const { refused, registry, read } = bench({ components: 1 });
    read(line('a', '1') + line('b', '1'));
    expect(registry.all().map(component => component.engineId)).toEqual(['a']);
    expect(refused).toEqual(['components']);
  });
});
