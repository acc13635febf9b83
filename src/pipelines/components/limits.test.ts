import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { type Bench, startBench, startBenchWith, URL_OF, vectorAt } from '../../../test/helpers/monitor.ts';
import { handOver } from '../../../test/helpers/points.ts';
import { silentLogger } from '../../lib/logger.ts';
import type { Point } from '../parsers/point.ts';

const line = (id: string, value: number, peer = ''): string =>
  `vector_component_received_events_total{component_id="${id}",component_kind="source",component_type="syslog",peer="${peer}"} ${value}\n`;

const bounded = (limits: object) => ({ ...vectorAt('edge'), ...limits });

const SERIES_NOTICE =
  'series beyond the 2 of maxSeries are refused; raise it, or drop labels with many values at the engine';

describe('a pipeline with as much as it may have', () => {
  it('refuses further series, says so where engines are listed, and goes on with those it has', async () => {
    const bench = await startBench(bounded({ maxSeries: 2 }), vectorAt('fine'));
    bench.pages.serve(URL_OF('fine'), line('web', 1, 'a') + line('web', 1, 'b') + line('web', 1, 'c'));
    await bench.scrape(line('app', 1, 'a') + line('app', 1, 'b'));
    await bench.scrape(line('app', 2, 'a') + line('app', 3, 'b') + line('app', 900, 'c'));
    expect(bench.status('app')).toMatchObject({ health: 'Green', metrics: { in_events: 3 } });
    expect(bench.monitor.components.pipeline('edge')).toMatchObject({
      state: 'reachable',
      error: SERIES_NOTICE,
    });
    expect(bench.metered).toEqual(['refused edge series']);
    expect(bench.monitor.components.pipeline('fine')?.error).toBeNull();
  });

  it('refuses further inputs and outputs', async () => {
    const bench = await startBench(bounded({ maxComponents: 1 }));
    await bench.scrape(line('app', 1));
    await bench.scrape(line('app', 5) + line('web', 1) + line('db', 1));
    expect(bench.monitor.components.all().map(({ engineId }) => engineId)).toEqual(['app']);
    expect(bench.status('app').metrics.in_events).toBe(4);
    expect(bench.monitor.components.pipeline('edge')?.error).toMatch(/beyond the 1 of maxComponents/);
    expect(bench.metered).toEqual(['refused edge components', 'refused edge components']);
  });

  it('logs it once and then every 10 minutes with their number, and is no longer in trouble after that', async () => {
    const logged: object[] = [];
    const logger = {
      ...silentLogger,
      warn: (fields: object) => void logged.push(fields),
      child: () => logger,
    };
    const bench = await startBenchWith({ logger }, bounded({ maxSeries: 1 }));
    const both = line('app', 1) + line('web', 1);
    await bench.scrape(both);
    expect(logged).toEqual([expect.objectContaining({ what: 'series', count: 1 })]);
    await bench.clock.advance(590_000);
    expect(logged).toHaveLength(1);
    await bench.clock.advance(10_000);
    expect(logged[1]).toMatchObject({ what: 'series', count: 60 });
    await bench.scrape(line('app', 1));
    await bench.clock.advance(590_000);
    expect(bench.monitor.components.pipeline('edge')?.error).toBeNull();
  });

  it('takes more when its settings allow more, without losing what it has', async () => {
    const bench = await startBench(bounded({ maxSeries: 1 }));
    await bench.scrape(line('app', 1) + line('web', 1));
    bench.configure(bounded({ maxSeries: 2 }));
    await bench.scrape(line('app', 4) + line('web', 1) + line('db', 1));
    expect(bench.monitor.components.all().map(({ engineId }) => engineId)).toEqual(['app', 'web']);
    expect(bench.status('app').metrics.in_events).toBe(3);
  });

  it('takes series again when others were gone for a day', async () => {
    const bench = await startBench(bounded({ maxSeries: 1 }));
    await bench.scrape(line('app', 1));
    await bench.scrape(line('web', 1));
    await bench.clock.advance(25 * 3_600_000);
    expect(bench.monitor.components.all().map(({ engineId }) => engineId)).toEqual(['web']);
  });

  it('makes no instance of names that a limit refuses', async () => {
    const bench = await startBench({
      id: 'edge',
      engine: 'vector',
      push: true,
      token: 'token of edge',
      maxComponents: 1,
    });
    for (let at = 0; at < 50; at++)
      void bench.monitor.ingestPoints('edge', undefined, handOver([pointOf(`id-${at}`, `i-${at}`)]));
    await bench.monitor.stop();
    const components = bench.monitor.components.all();
    expect(components).toHaveLength(1);
    expect(bench.metered).toHaveLength(49);
  });

  it('takes no series whose name is too long to be kept', async () => {
    const bench = await startBench(vectorAt('edge'));
    const labels = Array.from({ length: 5 }, (_, at) => `l${at}="${'x'.repeat(4000)}"`).join();
    await bench.scrape(
      `${line('app', 1)}vector_component_received_events_total{component_id="long",component_kind="source",${labels}} 1\n`,
    );
    expect(bench.monitor.components.all().map(({ engineId }) => engineId)).toEqual(['app']);
  });
});

const QUOTA_NOTICE =
  'inputs and outputs beyond the 2 that a workspace may have over all its pipelines (hosted.quotas.components) are refused; read fewer of them, give them fewer ids, or ask the operator of this service for more';

describe('a workspace with as many inputs and outputs as its quota', () => {
  const ids = (bench: Bench): string[] => bench.monitor.components.all().map(({ engineId }) => engineId);
  const errorOf = (bench: Bench, id: string) => bench.monitor.components.pipeline(id)?.error;

  it('refuses further ones over all pipelines, says so where it happens, and goes on with those it has', async () => {
    const bench = await startBenchWith(
      { quotas: { components: 2, series: 100 } },
      vectorAt('edge'),
      vectorAt('core'),
    );
    bench.pages.serve(URL_OF('core'), line('db', 1));
    await bench.scrape(line('app', 1));
    await bench.scrape(line('app', 5) + line('web', 1));
    expect(ids(bench)).toEqual(['app', 'db']);
    expect(bench.status('app').metrics.in_events).toBe(4);
    expect(bench.monitor.components.pipeline('edge')).toMatchObject({
      state: 'reachable',
      error: QUOTA_NOTICE,
    });
    expect(errorOf(bench, 'core')).toBeNull();
    expect(bench.metered).toEqual(['refused edge components']);
  });

  it('names the quota where the bound of the pipeline is higher, and that bound where it is lower', async () => {
    const high = { ...vectorAt('edge'), maxComponents: 100_000 };
    const bench = await startBenchWith({ quotas: { components: 2, series: 100 } }, high, {
      ...vectorAt('core'),
      maxComponents: 1,
    });
    await bench.scrape(line('app', 1) + line('web', 1), 'core');
    expect(errorOf(bench, 'core')).toMatch(/beyond the 1 of maxComponents/);
    await bench.scrape(line('app', 1) + line('web', 1));
    expect(errorOf(bench, 'edge')).toBe(QUOTA_NOTICE);
    expect(ids(bench)).toEqual(['app', 'app']);
  });

  it('takes another one when one is gone', async () => {
    const bench = await startBenchWith(
      { quotas: { components: 1, series: 100 } },
      vectorAt('edge'),
      vectorAt('core'),
    );
    await bench.scrape(line('app', 1));
    await bench.scrape(line('db', 1), 'core');
    expect(ids(bench)).toEqual(['app']);
    bench.configure(vectorAt('core'));
    await bench.clock.advance(10_000);
    expect(ids(bench)).toEqual(['db']);
  });

  it('keeps what it has when the quota is lower after a restart', async () => {
    const facts = { quotas: { components: 2, series: 100 } };
    const bench = await startBenchWith(facts, vectorAt('edge'));
    await bench.scrape(line('app', 1) + line('web', 1));
    facts.quotas.components = 1;
    await bench.restart();
    await bench.scrape(line('app', 5) + line('web', 3) + line('db', 1));
    expect(ids(bench)).toEqual(['app', 'web']);
    expect(bench.status('web').metrics.in_events).toBe(2);
    expect(errorOf(bench, 'edge')).toMatch(/beyond the 1 that a workspace may have/);
  });

  it('answers a push with how many were kept', async () => {
    const own = { id: 'own', engine: 'custom', push: true, token: 'custom token' };
    const bench = await startBenchWith({ quotas: { components: 2, series: 100 } }, own);
    const push = (...sent: string[]) =>
      bench.monitor.ingestSamples('own', {
        samples: sent.map(id => ({ kind: 'input', id, metric: 'in_events', value: 1 })),
      });
    expect(push('a', 'b', 'c')).toEqual({ accepted: 2 });
    expect(push('c', 'b', 'a')).toEqual({ accepted: 2 });
    expect(errorOf(bench, 'own')).toBe(QUOTA_NOTICE);
  });
});

const pointOf = (id: string, instance: string): Point => ({
  name: 'vector_component_received_events_total',
  labels: new Map([
    ['component_id', id],
    ['component_kind', 'source'],
    ['component_type', 'syslog'],
  ]),
  instance,
  value: 1,
  time: Number.NaN,
  temporality: 'cumulative',
  start: Number.NaN,
});

setFlagsFromString('--expose-gc');
const collect: () => void = runInNewContext('gc');

function usedBytes(): number {
  collect();
  return process.memoryUsage().heapUsed;
}

const CHUNKS = 30;
const IN_CHUNK = 10_000;

it.each([
  [
    'pages with a new label value in every line',
    { maxSeries: 1000 },
    298_000,
    (chunk: number) => {
      let page = '';
      for (let at = 0; at < IN_CHUNK; at++) page += line('app', 1, `p${chunk}-${at}`);
      return page;
    },
  ],
  [
    'pages with a new input in every line',
    { maxComponents: 1000 },
    298_000,
    (chunk: number) => {
      let page = '';
      for (let at = 0; at < IN_CHUNK; at++) page += line(`app-${chunk}-${at}`, 1);
      return page;
    },
  ],
  [
    'pages with a new instance in every line',
    { maxComponents: 1000, maxSeries: 2000 },
    298_000,
    (chunk: number) => {
      let page = '';
      for (let at = 0; at < IN_CHUNK; at++)
        page += line(`app-${chunk}-${at}`, 1, `p",instance="i${chunk}-${at}`);
      return page;
    },
  ],
  [
    'pages with a new name in every line',
    { maxSeries: 1000 },
    0,
    (chunk: number) => {
      let page = line('app', 1);
      for (let at = 0; at < IN_CHUNK; at++) page += `vector_${chunk}_${at}_${'x'.repeat(300)} 1\n`;
      return page;
    },
  ],
])('takes no more memory for 300,000 of them: %s', async (_, limits, least, pageOf) => {
  let refused = 0;
  const meter = { scrapeFailed: () => {}, refused: () => void refused++, rejected: () => {} };
  const bench = await startBenchWith({ meter }, bounded(limits));
  // Memory that is bounded by itself, such as remembered names, is in use after the first ones.
  for (let chunk = 0; chunk < 3; chunk++) await bench.scrape(pageOf(chunk));
  bench.pages.serve(URL_OF('edge'), line('app', 1));
  const before = usedBytes();
  for (let chunk = 3; chunk < CHUNKS; chunk++) await bench.scrape(pageOf(chunk));
  bench.pages.serve(URL_OF('edge'), line('app', 1));
  expect(bench.monitor.components.all().length).toBeLessThanOrEqual(1000);
  expect(refused).toBeGreaterThanOrEqual(least);
  expect(usedBytes() - before).toBeLessThan(8 * 2 ** 20);
  await bench.monitor.stop();
});

it('keeps nothing of a page until the next one', async () => {
  const bench = await startBenchWith({}, bounded({}));
  await bench.scrape(line('app', 1));
  const before = usedBytes();
  await bench.scrape(`${line('app', 2)}# ${'x'.repeat(12 * 2 ** 20)}\n`);
  bench.pages.serve(URL_OF('edge'), line('app', 2));
  expect(usedBytes() - before).toBeLessThan(2 * 2 ** 20);
  await bench.monitor.stop();
});
