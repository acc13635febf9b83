import { createServer } from 'node:http';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { listenLocally } from '../acceptance/listen-locally.ts';
import { testClock } from '../helpers/clock.ts';
import { until } from '../helpers/until.ts';
import { type ApiServer, JSON_BODY, startApiServer } from './api-server.ts';

/** A page as its nth request gets it; undefined answers 500. */
type Script = (request: number) => string | undefined;

const events = (count: number, stamp = ''): string =>
  `vector_component_received_events_total{component_id="app",component_kind="source",component_type="syslog"} ${count}${stamp}\n`;

const START_SEC = 1_767_225_012;
const clock = testClock((START_SEC + 1_000_000) * 1000);

/** Pages of what was reported in public, read every second of a clock that is moved by hand. */
const SCRIPTS = {
  moved_start(request) {
    const counts = [5_000_250, 5_000_300, 5_000_340, 5_000_400, 5_000_700];
    const count = counts[Math.min(request, counts.length - 1)] ?? 0;
    return `${events(count)}process_start_time_seconds ${START_SEC + (request % 2) * 100}\n`;
  },
  no_battery(request) {
    const now = clock.now();
    if (request < 3) return events(50_100 + request * 10, ` ${now}`);
    const booted = Math.min(request - 2, 2);
    return events(booted * 20, ` ${now - 3_600_000 + booted * 1000}`);
  },
  /** 100 events a second, in each of which it is asked once. */
  outage: request => (request >= 6 && request < 13 ? undefined : events(request * 100)),
  // The second process answers once conditions have looked at the first for a while.
  several: request =>
    events((request < 6 || request % 2 === 0 ? 9_000_000 : 4_000_000) + Math.floor(request / 2) * 10),
} satisfies Record<string, Script>;

const TOKEN = 'token-of-the-collectors';
const requests = new Map<string, number>();
let server: ApiServer;
let page: Awaited<ReturnType<typeof listenLocally>>;

beforeAll(async () => {
  page = await listenLocally(
    createServer((request, response) => {
      const id = (request.url ?? '').slice(1);
      const at = requests.get(id) ?? 0;
      requests.set(id, at + 1);
      const text = Object.entries(SCRIPTS).find(([name]) => name === id)?.[1](at);
      response.writeHead(text === undefined ? 500 : 200, { 'content-type': 'text/plain' }).end(text);
    }),
  );
  const files = {
    settings: {
      pipelines: [
        ...Object.keys(SCRIPTS).map(id => ({
          id,
          engine: 'vector',
          url: `${page.url}/${id}`,
          interval: '1s',
        })),
        { id: 'collectors', engine: 'otelcol', push: true, token: TOKEN },
      ],
    },
    notifications: {
      notifications: [
        {
          id: 'flood',
          condition: 'high-volume',
          conf: { name: 'syslog:*', timeWindow: '4s', dataVolume: '500 events' },
        },
      ],
    },
  };
  server = await startApiServer(files, {}, clock);
});

afterAll(async () => {
  await server.stop();
  await page.end();
});

async function items(path: string): Promise<Record<string, unknown>[]> {
  const { text } = await server.call('GET', `/api/v1${path}`);
  return JSON.parse(text).items;
}

/** Undefined until it is shown, which its id has to be on disk for. */
async function counted(pipeline: string, engineId: string): Promise<number | undefined> {
  const found = (await items('/system/inputs')).find(
    item =>
      JSON.stringify(item.headgate).includes(`"${pipeline}"`) &&
      JSON.stringify(item).includes(`"${engineId}"`),
  );
  return (found as { status?: { metrics: { in_events?: number } } } | undefined)?.status?.metrics.in_events;
}

let second = 0;

/** Lets time pass up to that second, in each of which every page is read once. */
async function passTo(end: number): Promise<void> {
  while (second < end) {
    second++;
    await clock.advance(1000);
    const before = clock.now() - 1000;
    await until(
      async () =>
        (await items('/system/engines')).every(
          ({ mode, lastAt }) => mode === 'push' || Date.parse(String(lastAt)) > before,
        ),
      `the pages of second ${second}`,
    );
  }
}

it('counts a process whose start time moves and whose counter goes on', async () => {
  await passTo(7);
  await expect.poll(() => counted('moved_start', 'app')).toBe(450);
});

it('counts a host that booted without a clock, from its first page on', async () => {
  await passTo(7);
  await expect.poll(() => counted('no_battery', 'app')).toBe(20 + 40);
});

it('raises no false alarm of volume when a page can be read again, and counts all of it', async () => {
  await passTo(20);
  await expect.poll(() => counted('outage', 'app')).toBe(1900);
  const flooded = async () => (await items('/incidents')).map(({ subject }) => subject);
  // The values of the other process count as those of a restart until they are seen through.
  await until(async () => (await flooded()).includes('several/syslog:app'), 'the alarm of the other page');
  expect(await flooded()).not.toContain('outage/syslog:app');
});

it('says that several processes answer at one address, and counts nothing of them', async () => {
  await passTo(20);
  const engine = (await items('/system/engines')).find(({ id }) => id === 'several');
  expect(JSON.stringify(engine)).toMatch(
    /the counters of instance 127\.0\.0\.1:\d+ go back to where they were/,
  );
  await expect.poll(() => counted('several', 'app')).toBeLessThan(9_000_100);
});

interface SentPoint {
  readonly value: number;
  readonly time: number;
  readonly start?: number;
}

async function pushed(
  receiver: string,
  aggregationTemporality: number,
  ...points: SentPoint[]
): Promise<unknown> {
  const ns = (second: number): string => String(BigInt(START_SEC + second) * 1_000_000_000n);
  const body = {
    resourceMetrics: [
      {
        resource: { attributes: [{ key: 'service.instance.id', value: { stringValue: 'i-1' } }] },
        scopeMetrics: [
          {
            metrics: [
              {
                name: 'otelcol_receiver_accepted_log_records',
                sum: {
                  aggregationTemporality,
                  isMonotonic: true,
                  dataPoints: points.map(({ value, time, start }) => ({
                    attributes: [{ key: 'receiver', value: { stringValue: receiver } }],
                    asInt: String(value),
                    timeUnixNano: ns(time),
                    ...(start !== undefined && { startTimeUnixNano: ns(start) }),
                  })),
                },
              },
            ],
          },
        ],
      },
    ],
  };
  const { text } = await server.call('POST', '/ingest/otlp/v1/metrics', {
    headers: [['authorization', `Bearer ${TOKEN}`], JSON_BODY],
    body: JSON.stringify(body),
  });
  return JSON.parse(text);
}

it('counts totals on, when a collector in between is deployed anew and gives them another start', async () => {
  const CUMULATIVE = 2;
  for (let at = 0; at <= 3; at++)
    await pushed('otlp/steady', CUMULATIVE, { value: 7_000_000 + at * 10, time: at, start: -100 });
  await pushed('otlp/steady', CUMULATIVE, { value: 7_000_040, time: 4, start: 4 });
  for (let at = 5; at <= 7; at++)
    await pushed('otlp/steady', CUMULATIVE, { value: 7_000_000 + at * 10, time: at, start: 4 });
  await expect.poll(() => counted('collectors', 'otlp/steady')).toBe(70);
  for (let at = 0; at <= 2; at++)
    await pushed('otlp/unknown', CUMULATIVE, { value: 500 + at * 10, time: at, start: at });
  await expect.poll(() => counted('collectors', 'otlp/unknown')).toBe(20);
});

it('counts increases in whatever order they come, and reports those that overlap, in the answer, at /metrics and of the pipeline', async () => {
  const DELTA = 1;
  for (const start of [0, 2, 1, 3])
    expect(await pushed('otlp/queue', DELTA, { value: 10, start, time: start + 1 })).toEqual({});
  await expect.poll(() => counted('collectors', 'otlp/queue')).toBe(40);
  expect(await pushed('otlp/queue', DELTA, { value: 10, start: 1, time: 2 })).toEqual({});
  expect(await pushed('otlp/queue', DELTA, { value: 10, start: 2, time: 6 })).toEqual({
    partialSuccess: { rejectedDataPoints: '1', errorMessage: expect.stringContaining('overlap') },
  });
  await expect.poll(() => counted('collectors', 'otlp/queue')).toBe(40);
  const { text } = await server.call('GET', '/metrics');
  expect(text).toContain(
    'headgate_pipeline_increases_rejected_total{pipeline="collectors",reason="overlapping"} 1',
  );
  const engine = (await items('/system/engines')).find(({ id }) => id === 'collectors');
  expect(engine).toMatchObject({
    uncounted: {
      reason: expect.stringMatching(/^increases of instance i-1 overlap what was counted/),
      at: expect.stringMatching(/^\d{4}-.*Z$/),
    },
  });
  expect(engine).not.toHaveProperty('error');
});
