import { createServer } from 'node:http';
import { expect, it, onTestFinished } from 'vitest';
import { loadOf } from '../helpers/bombs/load.ts';
import { until } from '../helpers/until.ts';
import type { Served } from './bin.ts';
import { BOMB_ENVIRONMENT } from './bombarded.ts';
import { login } from './client.ts';
import { installation, serve } from './harness.ts';
import { listenLocally } from './listen-locally.ts';

const SERIES = 1_000_000;
/** As many as one push may have. */
const A_PUSH = 200_000;
const TOKEN = 'token-of-a-million-series';
/**
 * For so long (ms of processor time) nobody else is answered at most: the snapshot copies a million values at once, and the
 * table of series grows by as many. A quiet machine needs some 150.
 */
const MOST_STALL_MS = 400;
const MOST_MB = 800;

const RULES = [{ match: '^m$', kind: 'input', id: 'i', type: 'i', metric: 'in_events' }];

/** A server with one pipeline, what its only input has counted, and what is said of the pipeline. */
async function watching(pipeline: object) {
  const server = await serve({
    ...installation({
      settings: { pipelines: [{ id: 'edge', engine: 'custom', rules: RULES, ...pipeline }] },
    }),
    environment: BOMB_ENVIRONMENT,
  });
  const { token: authorization } = await login(server.url);
  const first = async (path: string) => {
    const answer = await fetch(`${server.url}/api/v1/system/${path}`, { headers: { authorization } });
    const { items } = (await answer.json()) as {
      items: { error?: string; status?: { metrics: { in_events?: number } } }[];
    };
    return items[0];
  };
  return {
    server,
    counted: async () => (await first('inputs'))?.status?.metrics.in_events,
    error: async () => (await first('engines'))?.error,
  };
}

async function expectUnhindered(server: Served, work: Promise<void>): Promise<void> {
  const { stallMs, peakMb } = await loadOf(server, work);
  expect(stallMs).toBeLessThan(MOST_STALL_MS);
  expect(peakMb).toBeLessThan(MOST_MB);
}

it('counts each of a million series on a page, says that more are too many, and answers others meanwhile', {
  timeout: 600_000,
}, async () => {
  const pageOf = (count: number, value: number): Buffer =>
    Buffer.from(Array.from({ length: count }, (_, at) => `m{i="a",n="${at}"} ${value}\n`).join(''));
  let page = pageOf(SERIES, 5);
  let requests = 0;
  const pages = await listenLocally(
    createServer((_, response) => {
      requests++;
      response.end(page);
    }),
  );
  onTestFinished(() => pages.end());
  const { server, counted, error } = await watching({
    url: pages.url,
    interval: '1s',
    timeout: '60s',
    maxBytes: 64 * 1024 * 1024,
  });
  const work = async (): Promise<void> => {
    await until(() => requests > 1, 'the first page');
    expect(await counted()).toBe(0);
    page = pageOf(SERIES + 10, 6);
    await until(async () => (await counted()) === SERIES, 'the second page');
  };
  await expectUnhindered(server, work());
  expect(await error()).toMatch(/^series beyond the 1000000 of maxSeries are refused/);
});

it('counts each of a million series that are pushed, says that more are too many, and answers others meanwhile', {
  timeout: 600_000,
}, async () => {
  const { server, counted, error } = await watching({ push: true, token: TOKEN });
  const push = async (from: number, count: number, value: number): Promise<void> => {
    const answer = await fetch(`${server.url}/ingest/prometheus/write`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${TOKEN}`,
        'content-type': 'application/x-protobuf',
        'content-encoding': 'snappy',
      },
      body: new Uint8Array(written(from, count, value)),
    });
    expect(answer.ok, await answer.text()).toBe(true);
  };
  const work = async (): Promise<void> => {
    for (const value of [5, 6])
      for (let from = 0; from < SERIES; from += A_PUSH) await push(from, A_PUSH, value);
    expect(await counted()).toBe(SERIES);
    await push(SERIES, 10, 1);
  };
  await expectUnhindered(server, work());
  expect(await error()).toMatch(/^series beyond the 1000000 of maxSeries are refused/);
  expect(await counted()).toBe(SERIES);
});

const varint = (value: number): number[] =>
  value < 0x80 ? [value] : [(value % 0x80) | 0x80, ...varint(Math.floor(value / 0x80))];
const field = (number: number, body: readonly number[]): number[] => [
  number * 8 + 2,
  ...varint(body.length),
  ...body,
];
const label = (name: string, value: string): number[] =>
  field(1, [...field(1, [...Buffer.from(name)]), ...field(2, [...Buffer.from(value)])]);

const DIGITS = 7;

/** Remote write of so many series, as one literal of Snappy. */
function written(from: number, count: number, value: number): Buffer {
  const number = Buffer.alloc(8);
  number.writeDoubleLE(value);
  const sample = field(2, [1 * 8 + 1, ...number, 2 * 8, value]);
  const labels = [...label('__name__', 'm'), ...label('i', 'a'), ...label('n', '0'.repeat(DIGITS))];
  const one = Buffer.from(field(1, [...labels, ...sample]));
  const body = Buffer.alloc(count * one.length, one);
  for (let at = 0; at < count; at++)
    body.write(
      String(from + at).padStart(DIGITS, '0'),
      (at + 1) * one.length - sample.length - DIGITS,
      'latin1',
    );
  const length = body.length - 1;
  const head = [...varint(body.length), 62 << 2, length & 255, (length >> 8) & 255, length >> 16];
  return Buffer.concat([Buffer.from(head), body]);
}
