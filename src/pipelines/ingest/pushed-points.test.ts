import { expect, it } from 'vitest';
import { type Bench, startBench } from '../../../test/helpers/monitor.ts';
import { sample, sampleBytes } from '../../../test/helpers/pages.ts';
import {
  handOver,
  otlpJsonPoints,
  otlpProtobufPoints,
  writeRequestPoints,
} from '../../../test/helpers/points.ts';
import type { Point } from '../parsers/point.ts';
import { unpackSnappy } from '../parsers/remote-write.ts';

const pushing = (engine: string): object => ({ id: 'edge', engine, push: true, token: 'token of the edge' });

const counterAt = (value: number, more: Partial<Point> = {}): Point => ({
  name: 'otelcol_receiver_accepted_log_records',
  labels: new Map([['receiver', 'syslog/app']]),
  instance: 'i-1',
  value,
  time: Number.NaN,
  temporality: 'cumulative',
  start: Number.NaN,
  ...more,
});

const push = (bench: Bench, ...points: Point[]) =>
  bench.monitor.ingestPoints('edge', undefined, handOver(points));

it('finds inputs and outputs by the profile of the engine, and drops points that belong to none', async () => {
  const bench = await startBench(pushing('otelcol'));
  const points = otlpJsonPoints(JSON.parse(sample('otlp-http-json-cumulative.json')));
  expect(
    bench.monitor.ingestPoints('edge', undefined, handOver([...points, counterAt(1, { name: 'other' })])),
  ).toEqual({
    accepted: 3,
    ignored: 1,
  });
  expect(bench.monitor.components.all().map(({ kind, type, engineId }) => [kind, type, engineId])).toEqual([
    ['input', 'syslog', 'syslog/app'],
    ['output', 'otlp', 'otlp/prod'],
  ]);
  expect(bench.status('otlp/prod').metrics.queue_size).toBe(100);
});

it('begins to count with the first push, counts series that begin later in full, and goes on over a new start', async () => {
  const bench = await startBench(pushing('otelcol'));
  void push(bench, counterAt(100));
  void push(bench, counterAt(130));
  expect(bench.status('syslog/app').metrics.in_events).toBe(30);
  void push(bench, counterAt(130), counterAt(7, { name: 'otelcol_receiver_accepted_spans' }));
  expect(bench.status('syslog/app').metrics.in_events).toBe(37);
  void push(bench, counterAt(140, { start: 2 }));
  expect(bench.status('syslog/app').metrics.in_events).toBe(47);
});

it('adds increases that were sent as such', async () => {
  const bench = await startBench(pushing('otelcol'));
  void push(bench, counterAt(5, { temporality: 'delta', time: 1000 }));
  void push(bench, counterAt(6, { temporality: 'delta', time: 2000 }));
  void push(bench, counterAt(6, { temporality: 'delta', time: 2000 }));
  expect(bench.status('syslog/app').metrics.in_events).toBe(11);
});

it('goes on over starts that a middleman moves, and begins with a start that is unknown', async () => {
  const bench = await startBench(pushing('otelcol'));
  void push(
    bench,
    counterAt(7_000_000, { start: 10, time: 1000 }),
    counterAt(7_000_010, { start: 10, time: 2000 }),
  );
  void push(
    bench,
    counterAt(7_000_030, { start: 10, time: 3000 }),
    counterAt(7_000_040, { start: 4000, time: 4000 }),
  );
  for (const [at, value] of [7_000_050, 7_000_060, 7_000_070].entries())
    void push(bench, counterAt(value, { start: 4000, time: 5000 + at * 1000 }));
  expect(bench.status('syslog/app').metrics.in_events).toBe(70);
  void push(bench, counterAt(5, { start: 9000, time: 10_000 }));
  expect(bench.status('syslog/app').metrics.in_events).toBe(75);
});

it('counts totals of which each has an unknown start', async () => {
  const bench = await startBench(pushing('otelcol'));
  const spans = { name: 'otelcol_receiver_accepted_spans' };
  for (const at of [1000, 2000, 3000]) {
    void push(bench, counterAt(500 + at / 100, { start: at, time: at }));
    if (at > 1000) void push(bench, counterAt(at, { ...spans, start: at, time: at }));
  }
  expect(bench.status('syslog/app').metrics.in_events).toBe(20 + 1000);
});

it('is reset by a clock that was set back, where a start or the second push shows it, and not by what is late', async () => {
  const bench = await startBench(pushing('otelcol'));
  const at = (value: number, time: number, start: number): void =>
    void push(bench, counterAt(value, { time, start }));
  const counted = (): unknown => bench.status('syslog/app').metrics.in_events;
  at(1000, 9_000_000, 5_000_000);
  at(20, 7_010_000, 7_000_000);
  expect(counted()).toBe(20);
  at(15, 7_005_000, 7_000_000);
  at(5, 4_000_000, 3_990_000);
  expect(counted()).toBe(20);
  await bench.clock.advance(10_000);
  at(9, 4_010_000, 3_990_000);
  expect(counted()).toBe(29);
});

it('says that several senders push under one name, and counts nothing of them', async () => {
  const bench = await startBench(pushing('otelcol'));
  for (let at = 1; at <= 20; at++)
    void push(bench, counterAt((at % 2 === 0 ? 4_000_000 : 9_000_000) + at * 10, { time: at * 1000 }));
  expect(bench.status('syslog/app').metrics.in_events).toBeLessThan(9_000_200);
  expect(bench.monitor.components.pipeline('edge')?.error).toMatch(/^the counters of instance i-1 go back/);
});

it('keeps senders separate by their names', async () => {
  const bench = await startBench(pushing('otelcol'));
  for (const value of [100, 110])
    void push(bench, counterAt(value), counterAt(value * 2, { instance: 'i-2' }));
  expect(bench.status('syslog/app')).toMatchObject({ replicas: 2, metrics: { in_events: 30 } });
});

it('finds names without _total, as OpenTelemetry has them', async () => {
  const bench = await startBench(pushing('vector'));
  const labels = new Map([
    ['component_id', 'app'],
    ['component_kind', 'source'],
    ['component_type', 'syslog'],
  ]);
  const name = 'vector_component_received_events';
  for (const value of [1, 5]) void push(bench, counterAt(value, { name, labels }));
  expect(bench.status('app').metrics.in_events).toBe(4);
});

it('reads Fluent Bit the same by OTLP and by remote write', async () => {
  const read = [
    otlpProtobufPoints(sampleBytes('fluent-bit-5.1-otlp-http.bin')),
    writeRequestPoints(unpackSnappy(sampleBytes('fluent-bit-5.1-remote_write.snappy.bin'), 2 ** 24)),
  ];
  for (const points of read) {
    const bench = await startBench(pushing('fluent-bit'));
    void push(bench, ...points.map(point => ({ ...point, value: 0, time: 0 })));
    await bench.clock.advance(10_000);
    void push(bench, ...points);
    expect(bench.status('dead_http')).toMatchObject({ health: 'Red' });
    expect(bench.status('ok_file')).toMatchObject({ health: 'Green' });
    expect(bench.status('flood').metrics.blocked).toBe(1);
  }
});

it('reads what Prometheus writes of itself by rules of our own', async () => {
  const rules = [{ match: '^up$', id: 'job', kind: 'input', metric: 'up' }];
  const bench = await startBench({ ...pushing('custom'), rules });
  const points = writeRequestPoints(
    unpackSnappy(sampleBytes('prometheus-2.42-remote_write-v1.snappy.bin'), 2 ** 24),
  );
  void push(bench, ...points);
  expect(bench.monitor.components.all().length).toBeGreaterThan(0);
});
