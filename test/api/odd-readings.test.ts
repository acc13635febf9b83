import { createServer } from 'node:http';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { listenLocally } from '../acceptance/listen-locally.ts';
import { testClock } from '../helpers/clock.ts';
import { until } from '../helpers/until.ts';
import { type ApiServer, JSON_BODY, startApiServer } from './api-server.ts';

const clock = testClock(1_795_000_000_000);
const PUSHED = { own: 'custom', syslog: 'rsyslog', otlp: 'otelcol' } as const;
const TEXT = ['content-type', 'text/plain'] as const;
const tokenOf = (id: string): string => `token-of-the-pipeline-${id}`;

let server: ApiServer;
let pages: Awaited<ReturnType<typeof listenLocally>>;
let page = '';

beforeAll(async () => {
  pages = await listenLocally(createServer((_, response) => void response.end(page)));
  const files = {
    settings: {
      pipelines: [
        { id: 'page', engine: 'vector', url: pages.url, interval: '1s' },
        ...Object.entries(PUSHED).map(([id, engine]) => ({ id, engine, push: true, token: tokenOf(id) })),
      ],
    },
  };
  server = await startApiServer(files, {}, clock);
});
afterAll(async () => {
  await server.stop();
  await pages.end();
});

interface Item {
  readonly id: string;
  readonly lastAt?: string;
  readonly error?: string;
  readonly headgate: { readonly engineId: string };
  readonly status: { readonly metrics: { readonly in_events?: number } };
}

async function items(path: string): Promise<Item[]> {
  const { text } = await server.call('GET', `/api/v1/system/${path}`);
  return JSON.parse(text).items;
}

const engine = async (id: string) => (await items('engines')).find(one => one.id === id);
const counted = async (engineId: string) =>
  (await items('inputs')).find(({ headgate }) => headgate.engineId === engineId)?.status.metrics.in_events;

async function readPage(text: string): Promise<void> {
  page = text;
  const before = clock.now();
  await clock.advance(1000);
  await until(async () => Date.parse((await engine('page'))?.lastAt ?? '') > before, 'the page');
}

type Way = 'samples' | 'impstats' | 'otlp/v1/metrics';
const PIPELINE_OF = { samples: 'own', impstats: 'syslog', 'otlp/v1/metrics': 'otlp' } as const;

const push = (way: Way, body: string | Buffer, encoding?: string) =>
  server.call('POST', `/ingest/${way}`, {
    headers: [
      ['authorization', `Bearer ${tokenOf(PIPELINE_OF[way])}`],
      way === 'impstats' ? TEXT : JSON_BODY,
      ...(encoding === undefined ? [] : [['content-encoding', encoding] as const]),
    ],
    body,
  });

async function pushNow(way: Way, body: string): Promise<void> {
  await clock.advance(1000);
  const { status, text } = await push(way, body);
  expect(status, text).toBe(200);
}

const line = (id: string, count: number): string =>
  `vector_component_received_events_total{component_id="${id}",component_kind="source",component_type="syslog"} ${count}\n`;
const samples = (id: string, value: number): string =>
  JSON.stringify({ samples: [{ kind: 'input', type: 'app', id, metric: 'in_events', value }] });
const impstats = (name: string, submitted: number): string =>
  JSON.stringify({ name, origin: 'imtcp', submitted });

const point = (receiver: string, value: number) => ({
  attributes: [{ key: 'receiver', value: { stringValue: receiver } }],
  asInt: String(value),
  timeUnixNano: `${clock.now()}000000`,
});
const SUM = { aggregationTemporality: 2, isMonotonic: true };
const otlp = (dataPoints: readonly object[], ...others: readonly object[]): string =>
  JSON.stringify({
    resourceMetrics: [
      {
        scopeMetrics: [
          {
            metrics: [
              { name: 'otelcol_receiver_accepted_log_records', sum: { ...SUM, dataPoints } },
              ...others,
            ],
          },
        ],
      },
    ],
  });

/** How a total comes, at each door, and the name of its input. */
const DOORS: readonly (readonly [string, string, string, (total: number) => Promise<void>])[] = [
  ['a page', 'page', 'falling', total => readPage(line('falling', total))],
  ['samples', 'own', 'own/falling', total => pushNow('samples', samples('own/falling', total))],
  ['impstats', 'syslog', 'imtcp_falling', total => pushNow('impstats', impstats('imtcp_falling', total))],
  ['OTLP', 'otlp', 'otlp/falling', total => pushNow('otlp/v1/metrics', otlp([point('otlp/falling', total)]))],
];

describe.each(DOORS)('a total that decreases, of %s', (_, pipeline, id, send) => {
  it('counts two readings at most, is reported, and counts again once it grows', async () => {
    const most = 100_000;
    for (let total = most; total > most - 300; total -= 20) await send(total);
    const before = (await counted(id)) ?? Number.NaN;
    expect(before).toBeLessThanOrEqual(2 * most);
    expect((await engine(pipeline))?.error).toMatch(
      /go back to where they were, as when several processes|the counters fall again and again/,
    );
    // Ten readings without a fall.
    for (let at = 0; at < 11; at++) await send(most);
    await send(most + 7);
    expect(await counted(id)).toBe(before + 7);
  });
});

/** Its senders have pushed before, so what is new counts from 0. */
describe('a push', () => {
  it('with a series twice counts it once, and keeps labels with every escape', async () => {
    const name = 'otlp/"a\\b\'\n\tü日🚰{}=,#%';
    for (const total of [1000, 1007])
      await pushNow('otlp/v1/metrics', otlp([point(name, total), point(name, total)]));
    expect(await counted(name)).toBe(1007);
    for (const total of [1000, 1007]) await pushNow('samples', samples(name, total));
    const found = (await items('inputs')).filter(({ headgate }) => headgate.engineId === name);
    expect(found.map(({ status }) => status.metrics.in_events)).toEqual([1007, 1007]);
    expect(new Set(found.map(one => one.id)).size).toBe(2);
  });

  it('passes over exemplars, histograms, native ones too, summaries and gauges, and counts what stands beside them', async () => {
    const time = { timeUnixNano: '1' };
    const exemplars = [{ timeUnixNano: '1', asDouble: 5, traceId: '00', filteredAttributes: [] }];
    const others = (count: number): object[] => [
      {
        name: 'h',
        histogram: { ...SUM, dataPoints: [{ ...time, count, sum: 1, bucketCounts: ['1', '2'] }] },
      },
      {
        name: 'n',
        exponentialHistogram: {
          ...SUM,
          dataPoints: [
            { ...time, count, scale: 3, zeroCount: '1', positive: { offset: 1, bucketCounts: ['4'] } },
          ],
        },
      },
      {
        name: 's',
        summary: { dataPoints: [{ ...time, count, quantileValues: [{ quantile: 0.5, value: 1 }] }] },
      },
      { name: 'g', gauge: { dataPoints: [{ ...time, asDouble: 'NaN' }] } },
    ];
    for (const total of [50, 59])
      await pushNow('otlp/v1/metrics', otlp([{ ...point('otlp/rich', total), exemplars }], ...others(total)));
    expect(await counted('otlp/rich')).toBe(59);
  });

  it.each<[Way, (total: number) => string, string]>([
    ['samples', total => samples('own/packed', total), 'own/packed'],
    ['impstats', total => impstats('imtcp_packed', total), 'imtcp_packed'],
    ['otlp/v1/metrics', total => otlp([point('otlp/packed', total)]), 'otlp/packed'],
  ])('to %s of which the gzip ends early is refused and counts nothing', async (way, at, id) => {
    await pushNow(way, at(10));
    const whole = gzipSync(at(500));
    for (const bytes of [1, 9, 12, whole.length - 20]) {
      const { status, text } = await push(way, whole.subarray(0, -bytes), 'gzip');
      expect([status, JSON.parse(text).message], `${bytes} less`).toEqual([
        400,
        expect.stringMatching(/not gzip/),
      ]);
    }
    await pushNow(way, at(13));
    expect(await counted(id)).toBe(13);
  });
});
