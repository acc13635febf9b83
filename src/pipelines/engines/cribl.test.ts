import { describe, expect, it } from 'vitest';
import { names } from '../../../test/helpers/engines.ts';
import { type Bench, startBench } from '../../../test/helpers/monitor.ts';
import { handOver } from '../../../test/helpers/points.ts';
import type { Point } from '../parsers/point.ts';

const OWN = { cribl_host: 'w-1', event_host: 'w-1', event_source: 'cribl', group: 'default', host: 'w-1' };

/** As the Prometheus destination writes it: one sample a series and interval, each an increase. */
const point = (name: string, labels: object, value: number, at: number, worker = 'w0'): Point => ({
  name,
  labels: new Map(Object.entries({ ...OWN, cribl_wp: worker, ...labels })),
  instance: undefined,
  value,
  time: 1_795_824_480_000 + at * 1000,
  temporality: 'cumulative',
  start: Number.NaN,
});

const input = { input: 'syslog:in_app' };
const output = { output: 'splunk_hec:main' };
const dead = { output: 'tcpjson:dead' };

const interval = (at: number, name: (plain: string) => string = plain => plain): Point[] => [
  point(name('cribl_logstream_total_in_events'), input, 7, at, 'w0'),
  point(name('cribl_logstream_total_in_events'), input, 3, at, 'w1'),
  point(name('cribl_logstream_total_in_bytes'), input, 420, at),
  point(name('cribl_logstream_total_in_events'), { input: 'cribl:CriblMetrics' }, 30, at),
  point(name('cribl_logstream_total_in_events'), {}, 40, at),
  point(name('cribl_logstream_total_out_events'), output, 10, at),
  point(name('cribl_logstream_total_out_bytes'), output, 600, at),
  point(name('cribl_logstream_health_outputs'), output, 1, at),
  point(name('cribl_logstream_total_dropped_events'), dead, 4, at),
  point(name('cribl_logstream_health_outputs'), dead, 2, at),
  point(name('cribl_logstream_backpressure_outputs'), dead, 2, at),
  point(name('cribl_logstream_pq_queue_size'), dead, 4096, at),
  point(name('cribl_logstream_route_in_events'), { route: 'default' }, 10, at),
];

async function pushed(settings: object, ...intervals: Point[][]): Promise<Bench> {
  const bench = await startBench({
    id: 'edge',
    engine: 'cribl',
    push: true,
    token: 'token of the edge',
    ...settings,
  });
  for (const points of intervals) {
    await bench.monitor.ingestPoints('edge', undefined, handOver(points));
    await bench.clock.advance(2000);
  }
  return bench;
}

describe('cribl', () => {
  it.each([
    ['a Prometheus destination', {}, (plain: string) => plain],
    [
      'an OpenTelemetry destination',
      {},
      (plain: string) =>
        plain
          .replace('cribl_logstream_', 'cribl.logstream.')
          .replace('total_', 'total.')
          .replace('health_', 'health.')
          .replace('backpressure_', 'backpressure.')
          .replace('pq_', 'pq.'),
    ],
    ['another prefix', { namespace: 'edge' }, (plain: string) => plain.replace('cribl_logstream', 'edge')],
  ])(
    'adds the increases that come by %s, under the ids of its sources and destinations',
    async (_, settings, name) => {
      const bench = await pushed(settings, interval(0, name), interval(2, name));
      expect(names(bench)).toEqual(['input syslog:in_app', 'output splunk_hec:main', 'output tcpjson:dead']);
      expect(bench.status('in_app').metrics).toEqual({ in_events: 20, in_bytes: 840 });
      expect(bench.status('main')).toMatchObject({
        health: 'Green',
        metrics: { out_events: 20, out_bytes: 1200, up: 1 },
      });
      expect(bench.status('dead')).toMatchObject({
        health: 'Red',
        metrics: { dropped: 8, blocked: 1, up: 0, queue_size: 4096 },
      });
    },
  );

  it('counts a sample that is sent again once', async () => {
    const bench = await pushed({}, interval(0), interval(0), interval(2));
    expect(bench.status('in_app').metrics.in_events).toBe(20);
  });

  it('is silent where nothing comes, as Cribl leaves out what is 0', async () => {
    const bench = await pushed({}, interval(0), [point('cribl_logstream_health_outputs', output, 0, 2)]);
    await bench.clock.advance(60_000);
    expect(bench.monitor.components.silentMs(bench.find('in_app'))).toBe(64_000);
  });
});
