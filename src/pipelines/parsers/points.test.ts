import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { sample, sampleBytes } from '../../../test/helpers/pages.ts';
import { otlpJsonPoints, otlpProtobufPoints, writeRequestPoints } from '../../../test/helpers/points.ts';
import type { Point } from './point.ts';
import { unpackSnappy } from './remote-write.ts';

const MOST = 16 * 1024 * 1024;
const plain = (points: readonly Point[]) =>
  points.map(({ labels, ...rest }) => ({ ...rest, labels: Object.fromEntries(labels) }));
const found = (points: readonly Point[], name: string) => plain(points).filter(one => one.name === name);

it('reads what Prometheus writes', () => {
  const points = writeRequestPoints(
    unpackSnappy(sampleBytes('prometheus-2.42-remote_write-v1.snappy.bin'), MOST),
  );
  expect(found(points, 'up').length).toBeGreaterThan(0);
  for (const point of found(points, 'up'))
    expect(point).toMatchObject({
      value: expect.any(Number),
      temporality: 'cumulative',
      labels: { job: expect.any(String), instance: expect.any(String) },
    });
  for (const { time } of points) expect(new Date(time).getFullYear()).toBe(2026);
});

it('takes a value that is not sent for 0', () => {
  const points = writeRequestPoints(
    unpackSnappy(sampleBytes('fluent-bit-5.1-remote_write.snappy.bin'), MOST),
  );
  expect(
    found(points, 'fluentbit_output_retries_total').map(({ labels, value }) => [labels.name, value]),
  ).toEqual(
    expect.arrayContaining([
      ['ok_file', 0],
      ['dead_http', expect.any(Number)],
    ]),
  );
});

it('reads the same of OTLP as JSON and as protobuf', () => {
  const json = plain(otlpJsonPoints(JSON.parse(sample('otlp-http-json-cumulative.json'))));
  const protobuf = plain(otlpProtobufPoints(sampleBytes('otlp-http-protobuf-cumulative.bin')));
  const comparable = (points: typeof json) => points.map(({ time: _, start: __, ...rest }) => rest);
  expect(comparable(protobuf)).toEqual(comparable(json));
  expect(json).toHaveLength(3);
  expect(json[0]).toMatchObject({
    name: 'otelcol_receiver_accepted_log_records',
    labels: { receiver: 'syslog/app', transport: 'tcp' },
    instance: 'i-1',
    value: 1200,
    time: 1795824307928,
    temporality: 'cumulative',
    start: expect.closeTo(1795824307926, 2),
  });
});

it('knows an increase from a total', () => {
  const points = plain(otlpJsonPoints(JSON.parse(sample('otlp-http-json-delta.json'))));
  expect(points.map(({ name, temporality }) => [name, temporality])).toEqual([
    ['otelcol_receiver_accepted_log_records', 'delta'],
    ['otelcol_exporter_sent_log_records', 'delta'],
    ['otelcol_exporter_queue_size', 'cumulative'],
  ]);
});

it('reads what Fluent Bit sends by OTLP, whose points name no process', () => {
  const points = otlpProtobufPoints(sampleBytes('fluent-bit-5.1-otlp-http.bin'));
  const [retries] = found(points, 'fluentbit_output_retries_total').filter(
    ({ labels }) => labels.name === 'dead_http',
  );
  expect(retries).toMatchObject({ instance: undefined, value: expect.any(Number) });
  expect(retries?.value).toBeGreaterThan(0);
});

it.each([
  ['', 'resourceMetrics', { resourceMetrics: 5 }],
  [
    'a text in place of a number',
    'resourceMetrics[0].scopeMetrics[0].metrics[0].gauge.dataPoints[0].asDouble',
    {
      resourceMetrics: [
        { scopeMetrics: [{ metrics: [{ name: 'a', gauge: { dataPoints: [{ asDouble: '1' }] } }] }] },
      ],
    },
  ],
])('names the place of %s what is wrong: %s', (_, path, body) => {
  expect(() => otlpJsonPoints(body)).toThrow(
    expect.objectContaining({ code: 'invalid-request', problems: [expect.objectContaining({ path })] }),
  );
});

it.each([
  [
    'remote write',
    writeRequestPoints,
    unpackSnappy(sampleBytes('prometheus-2.42-remote_write-v1.snappy.bin'), MOST),
  ],
  ['OTLP', otlpProtobufPoints, sampleBytes('otlp-http-protobuf-cumulative.bin')],
] as const)('reads or refuses any bytes of %s, whatever was done to them', (_, read, whole) => {
  const mutation = fc.record({
    at: fc.nat({ max: whole.length - 1 }),
    byte: fc.nat({ max: 255 }),
    end: fc.nat({ max: whole.length }),
  });
  fc.assert(
    fc.property(mutation, ({ at, byte, end }) => {
      const bytes = Buffer.from(whole.subarray(0, end));
      if (at < end) bytes[at] = byte;
      try {
        for (const { value } of read(bytes)) expect(typeof value).toBe('number');
      } catch (error) {
        expect(error).toMatchObject({ code: 'invalid-request' });
      }
    }),
    { numRuns: 3000 },
  );
});
