import { gzipSync } from 'node:zlib';

/** A push that is made to cost its reader as much as it can. */
export interface PushBomb {
  /** The operation of ingest it is for. */
  readonly operation: string;
  readonly what: string;
  readonly type: string;
  readonly body: () => Buffer;
  readonly encoding?: 'gzip';
  /** The engine of the pipeline that is told it, `custom` where omitted. */
  readonly engine?: 'custom' | 'rsyslog';
  /** What the refusal says; left out where what is large in it is passed over unread. */
  readonly error?: RegExp;
}

const MB = 1024 * 1024;
const JSON_TYPE = 'application/json';
const PROTOBUF = 'application/x-protobuf';

const varint = (value: number): number[] =>
  value < 0x80 ? [value] : [(value % 0x80) | 0x80, ...varint(Math.floor(value / 0x80))];
const field = (number: number, body: Buffer): Buffer =>
  Buffer.concat([Buffer.from([number * 8 + 2, ...varint(body.length)]), body]);
/** So many empty messages in fields of this number. */
const empty = (number: number, count: number): Buffer =>
  Buffer.alloc(2 * count, Buffer.from([number * 8 + 2, 0]));
const metricOf = (points: Buffer): Buffer => field(1, field(2, field(2, field(5, points))));

/** A block of Snappy of one byte pair, repeated. */
function snappy(pair: Buffer, bytes: number): Buffer {
  const copies = Math.floor((bytes - 2) / 64);
  const copy = Buffer.from([(63 << 2) | 2, 2, 0]);
  return Buffer.concat([
    Buffer.from([...varint(2 + copies * 64), 1 << 2]),
    pair,
    Buffer.alloc(copies * 3, copy),
  ]);
}

/** So many bytes of one item again and again, with commas between. */
const items = (item: string, bytes: number): string =>
  `${item},`.repeat(Math.floor(bytes / (item.length + 1))) + item;
/** Objects within each other, closed again. */
const nested = (depth: number): string => `${'{"a":'.repeat(depth)}0${'}'.repeat(depth)}`;
/** One field of many packed numbers of a single byte each. */
const packed = (number: number, count: number): Buffer => field(number, Buffer.alloc(count, 1));

const text = (make: () => string) => (): Buffer => Buffer.from(make());
/** A bomb with its body packed, as small as it gets. */
const zipped = ({ body, what, ...bomb }: PushBomb): PushBomb => ({
  ...bomb,
  what: `${what}, packed`,
  encoding: 'gzip',
  body: () => gzipSync(body()),
});

const TOO_MANY = /more than \d+ (?:values|points|lines|keys)|at most \d+/;

const SAMPLES: readonly PushBomb[] = [
  {
    what: '99,999 empty samples',
    body: text(() => `{"samples":[${items('{}', 299_996)}]}`),
    error: /99997 more|and \d+ more/,
  },
  {
    what: 'millions of empty objects',
    body: text(() => `{"samples":[${items('{}', 15 * MB)}]}`),
    error: TOO_MANY,
  },
  { what: 'deep lists', body: text(() => '['.repeat(8 * MB)), error: /deeper than 32 levels/ },
  { what: 'deep objects', body: text(() => nested(500_000)), error: /deeper than 32 levels/ },
  {
    what: 'a million unknown keys',
    body: text(() => `{${Array.from({ length: 1_000_000 }, (_, at) => `"k${at}":0`).join(',')}}`),
    error: /more than 100000 keys/,
  },
  { what: '16 MB of blanks', body: text(() => `{"samples":[${' '.repeat(15 * MB)}]}`) },
  {
    what: 'one text of 16 MB',
    body: text(() => `{"samples":["${'x'.repeat(15 * MB)}"]}`),
    error: /a text of more than/,
  },
  {
    what: 'a text of escapes',
    body: text(() => `{"samples":["${'\\u0041'.repeat(1.3 * MB)}"]}`),
    error: /samples\[0\]/,
  },
  {
    what: 'a number of 16 MB',
    body: text(() => `{"samples":[${'1'.repeat(15 * MB)}]}`),
    error: /more than 1024 characters/,
  },
  {
    what: 'no JSON at its end',
    body: text(() => `{"samples":[${items('0', MB)}],}`),
    error: /not valid JSON/,
  },
  {
    what: '100,000 samples of long names',
    body: text(
      () =>
        `{"samples":[${items(`{"kind":"input","type":"t","id":"${'x'.repeat(80)}","metric":"in_events","value":1}`, 14 * MB)}]}`,
    ),
  },
].map(bomb => ({ operation: 'ingest.samples', type: JSON_TYPE, ...bomb }));

const EVENTS: readonly PushBomb[] = [
  { what: 'millions of numbers', body: text(() => `[${items('0', 15 * MB)}]`), error: TOO_MANY },
  { what: '400,000 empty events', body: text(() => `[${items('{}', 1_200_000)}]`), error: TOO_MANY },
  {
    what: 'millions of digits that are no measurement',
    body: text(() => `[${items('12345678901234567890', 15 * MB)}]`),
    error: TOO_MANY,
  },
  {
    what: 'an event of 99,999 fields',
    body: text(
      () =>
        `{"condition":"a","key":"k","state":"ALARM","fields":{${Array.from({ length: 99_999 }, (_, at) => `"f${at}":0`).join(',')}}}`,
    ),
    error: TOO_MANY,
  },
].map(bomb => ({ operation: 'ingest.events', type: JSON_TYPE, ...bomb }));

const IMPSTATS: readonly PushBomb[] = [
  {
    what: 'millions of empty lines',
    body: () => Buffer.alloc(15 * MB, '\n'),
    error: /more than 200000 lines/,
  },
  {
    what: '500,000 objects',
    body: () => Buffer.alloc(13 * MB, '{"name":"a","origin":"b"}\n'),
    error: /more than 200000 lines/,
  },
  { what: 'one line of 15 MB', body: () => Buffer.alloc(15 * MB, 'x') },
  { what: 'lines of blanks and braces', body: () => Buffer.alloc(12 * MB, `${'{ '.repeat(30_000)}\n`) },
  {
    what: 'objects of 256 counters',
    body: () =>
      Buffer.alloc(
        15 * MB,
        `{"name":"a","origin":"b",${Array.from({ length: 250 }, (_, at) => `"c${at}":1`).join(',')}}\n`,
      ),
    error: /more than 1500000 values/,
  },
].map(bomb => ({ operation: 'ingest.impstats', type: 'text/plain', engine: 'rsyslog' as const, ...bomb }));

const REMOTE_WRITE: readonly PushBomb[] = [
  { what: 'millions of empty series', body: () => snappy(empty(1, 1), 15 * MB), error: TOO_MANY },
  {
    what: 'a length that is a lie',
    body: () => Buffer.from([...varint(16 * MB), 0, 0]),
    error: /not a Snappy block/,
  },
  {
    what: 'a length that nothing can have',
    body: () => Buffer.from([...varint(2 ** 40), 0, 0]),
    error: /not a Snappy block|over the limit/,
  },
  {
    what: 'a copy from before the beginning',
    body: () => Buffer.from([...varint(64), 0, 1, (63 << 2) | 2, 255, 255]),
    error: /not a Snappy block/,
  },
].map(bomb => ({ operation: 'ingest.remoteWrite', type: PROTOBUF, ...bomb }));

const OTLP_PROTOBUF: readonly PushBomb[] = [
  { what: 'millions of empty points', body: () => metricOf(empty(1, 7_800_000)), error: TOO_MANY },
  { what: 'millions of empty resources', body: () => empty(1, 7_800_000), error: TOO_MANY },
  {
    what: 'millions of buckets in one point',
    body: () => field(1, field(2, field(2, field(9, field(1, packed(6, 15 * MB)).subarray(0, 14 * MB))))),
  },
].map(bomb => ({ operation: 'ingest.otlp', type: PROTOBUF, ...bomb }));

const OTLP_JSON: readonly PushBomb[] = [
  {
    what: 'millions of numbers',
    body: text(() => `{"resourceMetrics":[${items('0', 15 * MB)}]}`),
    error: TOO_MANY,
  },
  { what: 'deep objects', body: text(() => nested(500_000)), error: /deeper than 32 levels/ },
].map(bomb => ({ operation: 'ingest.otlp', type: JSON_TYPE, ...bomb }));

/** Packed as no sender would. */
const GZIP: readonly PushBomb[] = [
  {
    what: 'members of gzip one after the other',
    body: () => Buffer.concat(Array.from({ length: 64 }, () => gzipSync(Buffer.alloc(MB)))),
    error: /over the limit/,
  },
  {
    what: 'gzip that never ends',
    body: () => gzipSync(Buffer.alloc(8 * MB)).subarray(0, -20),
    error: /not gzip/,
  },
  { what: 'more than may be unpacked', body: () => gzipSync(Buffer.alloc(64 * MB)), error: /over the limit/ },
].map(bomb => ({ operation: 'ingest.otlp', type: JSON_TYPE, encoding: 'gzip' as const, ...bomb }));

/** Bombs for every way to push: a sweep compares them with the table of operations. */
export const PUSH_BOMBS: readonly PushBomb[] = [
  ...SAMPLES,
  ...EVENTS,
  ...IMPSTATS,
  ...REMOTE_WRITE,
  ...OTLP_PROTOBUF,
  ...OTLP_JSON,
  ...[SAMPLES, EVENTS, IMPSTATS, OTLP_PROTOBUF, OTLP_JSON].flatMap(bombs => bombs.slice(0, 2).map(zipped)),
  ...GZIP,
];
