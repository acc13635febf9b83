import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ApiServer, JSON_BODY, startApiServer } from './api-server.ts';

const MOST = 16 * 1024 * 1024;
const PIPELINES = ['own', 'syslog', 'otlp-json', 'otlp-protobuf', 'agents'] as const;
const tokenOf = (id: string): string => `token-of-the-pipeline-${id}`;

type Headers = readonly (readonly [string, string])[];
const PROTOBUF = ['content-type', 'application/x-protobuf'] as const;
const TEXT = ['content-type', 'text/plain'] as const;
const GZIP = ['content-encoding', 'gzip'] as const;
const SNAPPY = ['content-encoding', 'snappy'] as const;

const recorded = (name: string): Buffer => readFileSync(new URL(`../samples/${name}`, import.meta.url));

/** A block of Snappy that holds the bytes as they are: their length, then one literal. */
function snappy(bytes: Buffer): Buffer {
  return Buffer.concat([varint(bytes.length), Buffer.from([62 << 2]), threeBytes(bytes.length - 1), bytes]);
}
const threeBytes = (size: number): Buffer => Buffer.from([size & 255, (size >> 8) & 255, size >> 16]);
function varint(value: number): Buffer {
  const bytes: number[] = [];
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return Buffer.from([...bytes, rest]);
    bytes.push((rest % 128) + 128);
  }
}
/** A field of protobuf that holds bytes. */
const field = (number: number, content: Buffer): Buffer =>
  Buffer.concat([Buffer.from([number * 8 + 2]), varint(content.length), content]);
const text = (value: string): Buffer => Buffer.from(value);
const label = (name: string, value: string): Buffer =>
  field(1, Buffer.concat([field(1, text(name)), field(2, text(value))]));
function double(value: number): Buffer {
  const bytes = Buffer.alloc(9);
  bytes[0] = 1 * 8 + 1;
  bytes.writeDoubleLE(value, 1);
  return bytes;
}
/** One series of remote write. */
const written = (value: number, time = 1000): Buffer =>
  field(
    1,
    Buffer.concat([
      label('__name__', 'otelcol_receiver_accepted_spans'),
      label('receiver', 'otlp/agents'),
      field(2, Buffer.concat([double(value), Buffer.from([2 * 8]), varint(time)])),
    ]),
  );

const otlp = (value: unknown, time: string): Buffer =>
  Buffer.from(
    JSON.stringify({
      resourceMetrics: [
        {
          scopeMetrics: [
            {
              metrics: [
                {
                  name: 'otelcol_receiver_accepted_spans',
                  sum: {
                    aggregationTemporality: 2,
                    isMonotonic: true,
                    dataPoints: [
                      {
                        attributes: [{ key: 'receiver', value: { stringValue: 'otlp/json' } }],
                        timeUnixNano: time,
                        asDouble: value,
                      },
                    ],
                  },
                },
              ],
            },
          ],
        },
      ],
    }),
  );

function fixed64(value: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(value);
  return bytes;
}
/** One point of OTLP as protobuf: Resource 1, Scope 2, Metric 2, Sum 7, points 1. */
function otlpProtobuf(value: number, time = 1_000_000_000n): Buffer {
  const attribute = field(
    7,
    Buffer.concat([field(1, text('receiver')), field(2, field(1, text('otlp/protobuf')))]),
  );
  const point = Buffer.concat([
    Buffer.from([3 * 8 + 1]),
    fixed64(time),
    Buffer.from([4 * 8 + 1]),
    double(value).subarray(1),
    attribute,
  ]);
  const sum = Buffer.concat([field(1, point), Buffer.from([2 * 8, 2, 3 * 8, 1])]);
  const metric = Buffer.concat([field(1, text('otelcol_receiver_accepted_spans')), field(7, sum)]);
  return field(1, field(2, field(2, metric)));
}

const samples = (value: unknown, more: object = {}): Buffer =>
  Buffer.from(
    JSON.stringify({
      samples: [{ kind: 'input', type: 'app', id: 'own/app', metric: 'in_events', value, ...more }],
    }),
  );
const impstats = (value: unknown): Buffer =>
  Buffer.from(`{ "name": "syslog/in", "origin": "imtcp", "submitted": ${value} }\n`);

interface Format {
  readonly pipeline: (typeof PIPELINES)[number];
  readonly path: string;
  readonly headers: Headers;
  /** A payload whose input counted so much, stamped with a time in seconds where the format has times. */
  readonly at: (count: number, seconds?: number) => Buffer;
  /** Id of that input. */
  readonly input: string;
  /** A larger payload, to be cut. */
  readonly whole: Buffer;
  /** What the format answers to what is no payload of it. */
  readonly toGarbage: number;
  /** Values that count nothing, as payloads, with the answer to each. */
  readonly odd: readonly (readonly [string, Buffer, number])[];
  /** What unpacks to more than a body may be. */
  readonly bombs: readonly (readonly [string, Headers, Buffer])[];
}

const json: Headers = [JSON_BODY];
const FORMATS: readonly Format[] = [
  {
    pipeline: 'own',
    path: 'samples',
    headers: json,
    at: (count, seconds = 1) => samples(count, { time: seconds * 1000 }),
    input: 'own/app',
    whole: samples(1),
    toGarbage: 400,
    odd: [
      ['NaN', Buffer.from(samples(0).toString().replace('"value":0', '"value":NaN')), 400],
      ['infinite', Buffer.from(samples(0).toString().replace('"value":0', '"value":1e999')), 400],
      ['null', samples(null), 400],
      ['negative', samples(-5), 400],
    ],
    bombs: [['gzip', [JSON_BODY, GZIP], gzipSync(Buffer.alloc(MOST + 1, ' '))]],
  },
  {
    pipeline: 'syslog',
    path: 'impstats',
    headers: [TEXT],
    at: count => impstats(count),
    input: 'syslog/in',
    whole: recorded('rsyslog-8.2302-impstats-json.txt'),
    toGarbage: 200,
    odd: [
      ['NaN', impstats('NaN'), 200],
      ['infinite', impstats('1e999'), 200],
      ['null', impstats('null'), 200],
      ['negative', impstats(-5), 200],
    ],
    bombs: [['gzip', [TEXT, GZIP], gzipSync(Buffer.alloc(MOST + 1, ' '))]],
  },
  {
    pipeline: 'otlp-json',
    path: 'otlp/v1/metrics',
    headers: json,
    at: (count, seconds = 1) => otlp(count, `${seconds}000000000`),
    input: 'otlp/json',
    whole: recorded('otlp-http-json-cumulative.json'),
    toGarbage: 400,
    odd: [
      ['NaN', otlp('NaN', '1000000000'), 200],
      ['infinite', otlp('Infinity', '1000000000'), 200],
      ['less than infinite', otlp('-Infinity', '1000000000'), 200],
      ['null', otlp(null, '1000000000'), 200],
      ['negative', otlp(-5, '1000000000'), 200],
    ],
    bombs: [['gzip', [JSON_BODY, GZIP], gzipSync(Buffer.alloc(MOST + 1, ' '))]],
  },
  {
    pipeline: 'otlp-protobuf',
    path: 'otlp/v1/metrics',
    headers: [PROTOBUF],
    at: (count, seconds = 1) => otlpProtobuf(count, BigInt(seconds) * 1_000_000_000n),
    input: 'otlp/protobuf',
    whole: recorded('otlp-http-protobuf-cumulative.bin'),
    toGarbage: 400,
    odd: [
      ['NaN', otlpProtobuf(Number.NaN), 200],
      ['infinite', otlpProtobuf(Number.POSITIVE_INFINITY), 200],
      ['less than infinite', otlpProtobuf(Number.NEGATIVE_INFINITY), 200],
      ['negative', otlpProtobuf(-5), 200],
      ['of another wire type', field(1, field(2, field(2, field(7, Buffer.from([1 * 8, 5]))))), 400],
      ['a number in place of a message', Buffer.from([1 * 8, 5]), 400],
    ],
    bombs: [['gzip', [PROTOBUF, GZIP], gzipSync(Buffer.alloc(MOST + 1))]],
  },
  {
    pipeline: 'agents',
    path: 'prometheus/write',
    headers: [PROTOBUF, SNAPPY],
    at: (count, seconds = 1) => snappy(written(count, seconds * 1000)),
    input: 'otlp/agents',
    whole: recorded('prometheus-2.42-remote_write-v1.snappy.bin'),
    toGarbage: 400,
    odd: [
      ['NaN', snappy(written(Number.NaN)), 200],
      ['infinite', snappy(written(Number.POSITIVE_INFINITY)), 200],
      ['less than infinite', snappy(written(Number.NEGATIVE_INFINITY)), 200],
      ['negative', snappy(written(-5)), 200],
      ['of another wire type', snappy(field(1, Buffer.from([2 * 8, 5]))), 400],
      [
        'a number in place of a message',
        snappy(Buffer.concat([Buffer.from([1 * 8, 5]), Buffer.alloc(64)])),
        400,
      ],
    ],
    bombs: [
      [
        'a block that says how large it is',
        [PROTOBUF, SNAPPY],
        Buffer.concat([varint(MOST + 1), Buffer.alloc(9)]),
      ],
      ['a block of nothing but copies', [PROTOBUF, SNAPPY], copies(MOST + 64)],
    ],
  },
];

/** One byte, and copies of it, 64 at a time: 3 bytes for each. */
function copies(size: number): Buffer {
  const copy = Buffer.from([(63 << 2) | 2, 1, 0]);
  return Buffer.concat([
    varint(size),
    Buffer.from([0, 0]),
    Buffer.concat(Array.from({ length: size / 64 }, () => copy)),
  ]);
}

let server: ApiServer;
beforeAll(async () => {
  const engines = { own: 'custom', syslog: 'rsyslog' } as const;
  server = await startApiServer({
    settings: {
      pipelines: PIPELINES.map(id => ({
        id,
        engine: id === 'own' || id === 'syslog' ? engines[id] : 'otelcol',
        push: true,
        token: tokenOf(id),
      })),
    },
  });
});
afterAll(() => server.stop());

const bearer = (id: string) => ['authorization', `Bearer ${tokenOf(id)}`] as const;

const post = (format: Format, body: Buffer, headers: Headers = format.headers) =>
  server.call('POST', `/ingest/${format.path}`, { headers: [bearer(format.pipeline), ...headers], body });

async function counted({ input }: Format): Promise<number> {
  const { text: inputs } = await server.call('GET', '/api/v1/system/inputs');
  return (
    JSON.parse(inputs).items.find(
      (one: { headgate: { engineId: string } }) => one.headgate.engineId === input,
    )?.status.metrics.in_events ?? Number.NaN
  );
}

async function metric(sample: string): Promise<number> {
  const { text: metrics } = await server.call('GET', '/metrics', { headers: [] });
  const line = metrics.split('\n').find(one => one.startsWith(`${sample} `));
  return Number(line?.slice(sample.length + 1) ?? 0);
}

const refusals = (pipeline: string, code: string): Promise<number> =>
  metric(`headgate_ingest_refused_total{pipeline="${pipeline}",code="${code}"}`);

/** Answers to requests that no route takes. */
const unknownWith = (status: number): Promise<number> =>
  metric(
    `headgate_http_request_duration_seconds_count{method="(unknown)",route="(unknown)",status="${status}"}`,
  );

/** Counters of the inputs go up over the whole file. */
let count = 1_000;

/** What came before has changed nothing, and the next payload counts as the one before it did. */
async function expectGoodOnesTaken(format: Format, seconds = 1000 + count): Promise<void> {
  expect((await post(format, format.at(count, seconds))).status).toBe(200);
  const before = await counted(format);
  expect(before).not.toBeNaN();
  count += 7;
  expect((await post(format, format.at(count, seconds + 1))).status).toBe(200);
  expect(await counted(format)).toBe(before + 7);
}

const random = (seed: number): Buffer =>
  Buffer.from(Array.from({ length: 999 }, (_, at) => (seed * 31 + at * at * 17 + (at >> 3) * 91) % 256));

describe.each(FORMATS.map(format => [`${format.path} of ${format.pipeline}`, format] as const))(
  '%s',
  (_, format) => {
    it('answers garbage as such, counts it, and takes the next good payload', async () => {
      const before = await refusals(format.pipeline, 'invalid-request');
      for (const garbage of [
        random(1),
        random(2),
        Buffer.from('<html>'),
        Buffer.from('\u0001'),
        Buffer.alloc(5000, 255),
      ])
        expect((await post(format, garbage)).status).toBe(format.toGarbage);
      expect((await refusals(format.pipeline, 'invalid-request')) - before).toBe(
        format.toGarbage === 400 ? 5 : 0,
      );
      await expectGoodOnesTaken(format);
    });

    it('answers a payload that is cut at any sixteenth, and takes the next good one', async () => {
      for (let part = 1; part < 16; part++) {
        const cut = format.whole.subarray(0, Math.floor((format.whole.length * part) / 16));
        // Protobuf may be cut where a field ends, and lines where a line does.
        expect([200, 400]).toContain((await post(format, cut)).status);
      }
      await expectGoodOnesTaken(format);
    });

    it('refuses a payload of a byte more than may be, packed or not, with 413, and takes the next', async () => {
      const before = await refusals(format.pipeline, 'body-too-large');
      const tooLarge = [
        [format.headers, Buffer.alloc(MOST + 1, ' ')] as const,
        ...format.bombs.map(([, headers, body]) => [headers, body] as const),
      ];
      for (const [headers, body] of tooLarge) {
        const answer = await post(format, body, headers);
        expect([answer.status, JSON.parse(answer.text).code]).toEqual([413, 'body-too-large']);
      }
      expect((await refusals(format.pipeline, 'body-too-large')) - before).toBe(tooLarge.length);
      await expectGoodOnesTaken(format);
    });

    it.each(format.odd)('answers a value that is %s, and counts nothing', async (__, body, status) => {
      await expectGoodOnesTaken(format);
      const before = await counted(format);
      expect((await post(format, body)).status).toBe(status);
      expect(await counted(format)).toBe(before);
      await expectGoodOnesTaken(format);
    });

    it('goes on after times far in the past and in the future', async () => {
      await expectGoodOnesTaken(format);
      for (const seconds of [0, 1, 9_000_000_000]) {
        count += 1;
        expect((await post(format, format.at(count, seconds))).status).toBe(200);
      }
      await expectGoodOnesTaken(format, 1_800_000_000 + count);
    });

    it('answers 401 to a wrong token, 403 to that of another pipeline, 415 and 405, and counts them', async () => {
      const strangers = await refusals('(unknown)', 'unauthenticated');
      const body = format.at(count);
      const call = (headers: Headers, method = 'POST') =>
        server.call(method, `/ingest/${format.path}`, { headers: [...headers, ...format.headers], body });
      expect((await call([['authorization', 'Bearer nobody-knows-this']])).status).toBe(401);
      expect((await call([])).status).toBe(401);
      expect(await refusals('(unknown)', 'unauthenticated')).toBe(strangers + 2);

      const other = format.pipeline === 'syslog' ? 'own' : 'syslog';
      const forbidden = await refusals(other, 'forbidden');
      expect((await call([bearer(other)])).status).toBe(403);
      expect(await refusals(other, 'forbidden')).toBe(forbidden + 1);

      const types = await refusals(format.pipeline, 'unsupported-media-type');
      expect((await post(format, body, [['content-type', 'application/zip']])).status).toBe(415);
      expect(await refusals(format.pipeline, 'unsupported-media-type')).toBe(types + 1);

      const methods = await unknownWith(405);
      const method = await call([bearer(format.pipeline)], 'PUT');
      expect([method.status, method.headers.allow]).toEqual([405, 'POST']);
      expect(await unknownWith(405)).toBe(methods + 1);
      await expectGoodOnesTaken(format);
    });
  },
);
