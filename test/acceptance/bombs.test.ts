import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { ingestOperations } from '../../src/api/ingest/ingest.ts';
import { login } from './client.ts';
import { ADMIN_PASSWORD, installation, serve } from './harness.ts';

const SENDERS = { own: 'token-of-the-custom-pipeline', syslog: 'token-of-the-rsyslog-pipeline' };
const HEAP_MB = 512;
/** Of the whole process, over all bombs: each must leave nothing behind. */
const MOST_MB = 500;
/** Processor time (s) of one bomb; without limits while reading some took more than a minute. */
const MOST_CPU_SEC = 15;
const TICKS_PER_SEC = 100;
const MB = 1024 * 1024;

const JSON_TYPE = 'application/json';
const PROTOBUF = 'application/x-protobuf';

interface Bomb {
  readonly what: string;
  readonly type: string;
  readonly body: Buffer | string;
  readonly encoding?: string;
  readonly sender?: keyof typeof SENDERS;
  /** What is large in it is passed over unread, so that it is no error. */
  readonly isSkipped?: true;
}

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

const items = (item: string, bytes: number): string =>
  Array.from({ length: Math.floor(bytes / (item.length + 1)) }, () => item).join(',');
const DEEP = '['.repeat(8 * MB);
/** Objects within each other, closed again. */
const nested = (depth: number): string => `${'{"a":'.repeat(depth)}0${'}'.repeat(depth)}`;
/** One field of many packed numbers of a single byte each. */
const packed = (number: number, count: number): Buffer => field(number, Buffer.alloc(count, 1));

/** By operation of ingest. */
const BOMBS: Readonly<Record<string, readonly Bomb[]>> = {
  'ingest.samples': [
    { what: '99,999 empty samples', type: JSON_TYPE, body: `{"samples":[${items('{}', 299_997)}]}` },
    { what: 'millions of empty objects', type: JSON_TYPE, body: `{"samples":[${items('{}', 15 * MB)}]}` },
    { what: 'deep lists', type: JSON_TYPE, body: DEEP },
    { what: 'deep objects', type: JSON_TYPE, body: nested(500_000) },
    {
      what: 'a million unknown keys',
      type: JSON_TYPE,
      body: `{${Array.from({ length: 1_000_000 }, (_, at) => `"k${at}":0`).join(',')}}`,
    },
  ],
  'ingest.events': [
    { what: 'millions of numbers', type: JSON_TYPE, body: `[${items('0', 15 * MB)}]` },
    { what: '400,000 empty events', type: JSON_TYPE, body: `[${items('{}', 1_200_000)}]` },
  ],
  'ingest.impstats': [
    { what: 'millions of empty lines', type: 'text/plain', body: '\n'.repeat(15 * MB), sender: 'syslog' },
    {
      what: '500,000 objects',
      type: 'text/plain',
      body: '{"name":"a","origin":"b"}\n'.repeat(500_000),
      sender: 'syslog',
    },
  ],
  'ingest.remoteWrite': [
    { what: 'millions of empty series', type: PROTOBUF, body: snappy(empty(1, 1), 15 * MB) },
    { what: 'a length that is a lie', type: PROTOBUF, body: Buffer.from([...varint(16 * MB), 0, 0]) },
    { what: 'a length that nothing can have', type: PROTOBUF, body: Buffer.from([...varint(2 ** 40), 0, 0]) },
    {
      what: 'a copy from before the beginning',
      type: PROTOBUF,
      body: Buffer.from([...varint(64), 0, 1, (63 << 2) | 2, 255, 255]),
    },
  ],
  'ingest.otlp': [
    {
      what: 'millions of empty points',
      type: PROTOBUF,
      encoding: 'gzip',
      body: gzipSync(metricOf(empty(1, 7_800_000))),
    },
    {
      what: 'millions of empty resources',
      type: PROTOBUF,
      encoding: 'gzip',
      body: gzipSync(empty(1, 7_800_000)),
    },
    {
      what: 'millions of numbers',
      type: JSON_TYPE,
      encoding: 'gzip',
      body: gzipSync(`{"resourceMetrics":[${items('0', 15 * MB)}]}`),
    },
    {
      what: 'millions of buckets in one point',
      isSkipped: true,
      type: PROTOBUF,
      encoding: 'gzip',
      body: gzipSync(
        field(1, field(2, field(2, field(9, field(1, packed(6, 15 * MB)).subarray(0, 14 * MB))))),
      ),
    },
    { what: 'deep objects', type: JSON_TYPE, body: nested(500_000) },
    {
      what: 'members of gzip one after the other',
      type: JSON_TYPE,
      encoding: 'gzip',
      body: Buffer.concat(Array.from({ length: 64 }, () => gzipSync(Buffer.alloc(MB)))),
    },
    {
      what: 'gzip that never ends',
      type: JSON_TYPE,
      encoding: 'gzip',
      body: gzipSync(Buffer.alloc(8 * MB)).subarray(0, -20),
    },
    {
      what: 'more than may be unpacked',
      type: JSON_TYPE,
      encoding: 'gzip',
      body: gzipSync(Buffer.alloc(64 * MB)),
    },
  ],
};

/** Seconds that the process has spent on processors so far. */
function cpuSecOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SEC;
}

const peakMbOf = (pid: number): number =>
  Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;

it('has a bomb for every way to push', () => {
  expect(Object.keys(BOMBS).sort()).toEqual(ingestOperations.map(({ id }) => id).sort());
});

it('survives every bomb, refuses it and spends little on it', { timeout: 300_000 }, async () => {
  const server = await serve({
    ...installation({
      settings: {
        pipelines: [
          { id: 'own', engine: 'custom', push: true, token: SENDERS.own },
          { id: 'syslog', engine: 'rsyslog', push: true, token: SENDERS.syslog },
        ],
      },
    }),
    environment: {
      HEADGATE_ADMIN_PASSWORD: ADMIN_PASSWORD,
      NODE_OPTIONS: `--max-old-space-size=${HEAP_MB}`,
    },
  });
  for (const { id, path } of ingestOperations)
    for (const { what, type, body, encoding, sender = 'own', isSkipped } of BOMBS[id] ?? []) {
      const before = cpuSecOf(server.pid);
      const answer = await fetch(`${server.url}${path}`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${SENDERS[sender]}`,
          'content-type': type,
          ...(encoding !== undefined && { 'content-encoding': encoding }),
        },
        body: typeof body === 'string' ? body : new Uint8Array(body),
      });
      const text = await answer.text();
      const spent = cpuSecOf(server.pid) - before;
      expect(isSkipped ? [200] : [400, 413], `${id}: ${what}: ${text.slice(0, 200)}`).toContain(
        answer.status,
      );
      expect(text.length).toBeLessThan(64 * 1024);
      expect(spent, `${id}: ${what}`).toBeLessThan(MOST_CPU_SEC);
      expect((await fetch(`${server.url}/api/v1/health`)).status).toBe(200);
    }
  expect(peakMbOf(server.pid)).toBeLessThan(MOST_MB);
});

const lines = (count: number, line: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => line(index)).join('\n');

/** Texts of notifications.yml. */
const TEXT_BOMBS: Readonly<Record<string, string>> = {
  'aliases of aliases': lines(30, at => `x-${at}: &a${at} [${items(at === 0 ? '0' : `*a${at - 1}`, 40)}]`),
  'deep lists': `targets: ${'['.repeat(200_000)}`,
  'deep maps in lines': lines(3000, at => `${' '.repeat(at)}a:`),
  'a million values': `targets: [${items('0', 2 * MB)}]`,
  'a million empty items': `targets:\n${'-\n'.repeat(900_000)}`,
  'a huge text': `targets: "${'x'.repeat(4 * MB)}"`,
  'a text of escapes': `targets: "${'\\x41'.repeat(500_000)}"`,
  'many documents': '---\na: 1\n'.repeat(400_000),
  'one key many times': `targets: {${items('a: 0', MB)}}`,
  'many anchors': `targets: [${Array.from({ length: 200_000 }, (_, at) => `&a${at} 0`).join(',')}]`,
  'many comments': `targets: [0,${'# x\n'.repeat(500_000)}0]`,
  'routers in a row': JSON.stringify({
    targets: Array.from({ length: 20_000 }, (_, at) => ({
      ...{ id: `r${at}`, type: 'router', routes: [{ filter: 'true', output: `r${at + 1}` }] },
    })),
  }),
};

/** Of one text; the checking thread ends at 5 seconds. */
const MOST_TEXT_CPU_SEC = 20;

it('checks every text that is a bomb, and answers others meanwhile', {
  timeout: 300_000,
}, async () => {
  const folders = installation({ notifications: { targets: [], notifications: [] } });
  const server = await serve({
    ...folders,
    environment: {
      HEADGATE_ADMIN_PASSWORD: ADMIN_PASSWORD,
      NODE_OPTIONS: `--max-old-space-size=${HEAP_MB}`,
    },
  });
  const { token: authorization } = await login(server.url);
  const ask = (path: string, init: RequestInit = {}): Promise<Response> =>
    fetch(`${server.url}/api/v1${path}`, {
      ...init,
      headers: { authorization, 'content-type': JSON_TYPE },
    });
  for (const [what, text] of Object.entries(TEXT_BOMBS)) {
    const before = cpuSecOf(server.pid);
    let isDone = false;
    const check = ask('/system/config/check', {
      method: 'POST',
      body: JSON.stringify({ files: { 'notifications.yml': text } }),
    }).finally(() => {
      isDone = true;
    });
    let answered = 0;
    while (!isDone) {
      expect((await fetch(`${server.url}/api/v1/health`)).status, what).toBe(200);
      answered++;
    }
    expect(answered).toBeGreaterThan(0);
    const answer = await check;
    const found = await answer.text();
    // Either errors are found, or the text takes more than one may.
    expect([200, 400], `${what}: ${found.slice(0, 200)}`).toContain(answer.status);
    expect(found, what).toMatch(answer.status === 200 ? /"ok":false/ : /Checking this text|invalid-request/);
    expect(found.length, what).toBeLessThan(64 * 1024);
    expect(cpuSecOf(server.pid) - before, what).toBeLessThan(MOST_TEXT_CPU_SEC);
  }
});
