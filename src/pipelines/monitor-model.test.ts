import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type Bench, startBench, URL_OF } from '../../test/helpers/monitor.ts';

/**
 * The table against a model that keeps every page it saw and reckons from the start each time. The
 * engine has two inputs with two series each; it counts, restarts, loses series and fails to answer,
 * while Headgate restarts with and without its snapshot and the wall clock steps.
 */
const IDS = ['a', 'b'];
const PEERS = ['x', 'y'];
const SERIES = IDS.flatMap(id => PEERS.map(peer => `${id} ${peer}`));

type Step =
  | { readonly kind: 'count'; readonly series: string; readonly by: number }
  | { readonly kind: 'expire'; readonly series: string }
  | { readonly kind: 'engine restarts' }
  | { readonly kind: 'read' }
  | { readonly kind: 'fail' }
  | { readonly kind: 'restart'; readonly snapshot: boolean }
  | { readonly kind: 'clock'; readonly by: number };

const series = fc.constantFrom(...SERIES);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('count' as const), series, by: fc.nat(20) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('expire' as const), series }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'engine restarts' as const }) },
  { weight: 6, arbitrary: fc.constant({ kind: 'read' as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'fail' as const }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('restart' as const), snapshot: fc.boolean() }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('clock' as const), by: fc.integer({ min: -1e9, max: 1e9 }) }),
  },
);

type Page = ReadonlyMap<string, number>;

interface Read {
  readonly page: Page;
  readonly at: number;
  readonly wall: number;
  /** The first reading of a process. */
  readonly first: boolean;
}

interface Expected {
  readonly total: number;
  readonly lastDataAt: number | null;
  readonly silentSince: number;
}

/** Reckons one input over all pages since counting last began anew; undefined when no page named it. */
function reckon(id: string, reads: readonly Read[]): Expected | undefined {
  let known: Expected | undefined;
  reads.forEach(({ page, at, wall, first }, index) => {
    const earlier = reads.slice(0, index);
    // A page that shows nothing of its process says nothing about it.
    const before = (earlier.findLast(read => read.page.size > 0) ?? earlier[0])?.page;
    const named = [...page].filter(([key]) => key.startsWith(id));
    if (named.length === 0) return;
    known ??= { total: 0, lastDataAt: null, silentSince: at };
    if (before === undefined) return;
    const increase = named.reduce((sum, [key, value]) => {
      const last = before.get(key);
      return sum + (last === undefined || value < last ? value : value - last);
    }, 0);
    const total = known.total + increase;
    known = increase > 0 && !first ? { total, lastDataAt: wall, silentSince: at } : { ...known, total };
  });
  return known;
}

const text = (page: Page): string =>
  `up_total 1\n${[...page].map(([key, value]) => `in_total{id="${key[0]}",peer="${key[2]}"} ${value}\n`).join('')}`;

const settings = {
  id: 'edge',
  engine: 'custom',
  url: URL_OF('edge'),
  rules: [{ match: '^in_total$', id: 'id', kind: 'input', metric: 'in_events' }],
};

async function play(bench: Bench, steps: readonly Step[]): Promise<void> {
  const engine = new Map<string, number>();
  let reads: Read[] = [];
  let first = true;
  /** Where each reading happens within its interval of 10 s. */
  const half = 5000;
  let downMs = 0;
  for (const step of steps) {
    if (step.kind === 'count') engine.set(step.series, (engine.get(step.series) ?? 0) + step.by);
    else if (step.kind === 'expire') engine.delete(step.series);
    else if (step.kind === 'engine restarts') engine.clear();
    else if (step.kind === 'clock') bench.clock.step(step.by);
    else if (step.kind === 'fail') await bench.scrape({ status: 500 });
    else if (step.kind === 'restart') {
      await bench.restart(step.snapshot ? 70_000 : undefined, step.snapshot);
      downMs = step.snapshot ? 70_000 : 0;
      reads = step.snapshot ? reads.map(read => ({ ...read, at: read.at + downMs })) : [];
      first = true;
    } else {
      const page = new Map(engine);
      await bench.scrape(text(page));
      reads = [...reads, { page, at: bench.clock.monotonic() - half, wall: bench.clock.now() - half, first }];
      first = false;
    }
    compare(bench, reads);
  }
}

function compare(bench: Bench, reads: readonly Read[]): void {
  for (const id of IDS) {
    const expected = reckon(id, reads);
    const found = bench.monitor.components.all().find(component => component.engineId === id);
    expect(found === undefined).toBe(expected === undefined);
    if (found === undefined || expected === undefined) continue;
    const status = bench.monitor.components.status(found);
    expect({
      total: status.metrics.in_events,
      lastDataAt: status.lastDataAt,
      silentMs: status.silentMs,
    }).toEqual({
      total: expected.total,
      lastDataAt: expected.lastDataAt,
      silentMs: bench.clock.monotonic() - expected.silentSince,
    });
  }
}

it('agrees with a model that keeps every page, whatever happens to the engine and to Headgate', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async steps => {
      const bench = await startBench(settings);
      try {
        await play(bench, steps);
      } finally {
        await bench.monitor.stop();
      }
    }),
    { numRuns: 200 },
  );
});
