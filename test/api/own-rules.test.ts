import { createServer } from 'node:http';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { writeFileText } from '../acceptance/files.ts';
import { listenLocally } from '../acceptance/listen-locally.ts';
import { until } from '../helpers/until.ts';
import { type ApiServer, startApiServer } from './api-server.ts';

/** A page of OpenMetrics with what that brings: `_total`, `_created`, exemplars, and an end that may be missing. */
let taken = 100;
let hasEnd = true;
const page = (): string =>
  [
    '# TYPE shop_taken counter',
    `shop_taken_total{queue="orders",kind="amqp",dir="in"} ${taken} # {trace_id="ab}c"} 1.0 1795824483.5`,
    `shop_taken_created{queue="orders",kind="amqp",dir="in"} ${1795824483.5 + taken}`,
    `shop_taken_total{queue="other",kind="amqp",dir="out"} ${taken}`,
    '# TYPE shop_depth gauge',
    'shop_depth{store="lake",part="1"} 30',
    'shop_depth{store="lake",part="2"} 12',
    'shop_room{store="lake"} 60',
    ...(hasEnd ? ['# EOF'] : []),
    '',
  ].join('\n');

const engine = createServer((_, response) =>
  response
    .writeHead(200, { 'content-type': 'application/openmetrics-text; version=1.0.0; charset=utf-8' })
    .end(page()),
);

let server: ApiServer;
let end: () => unknown;

beforeAll(async () => {
  const listening = await listenLocally(engine);
  end = listening.end;
  const address = new URL(listening.url).host;
  server = await startApiServer({
    settings: {
      pipelines: [
        {
          id: 'shop',
          engine: 'custom',
          files: ['lists/shop.yml'],
          interval: '1s',
          rules: [
            // Not anchored, as people write it: it fits _created as well.
            {
              match: '^shop_taken',
              where: { dir: 'in' },
              id: 'queue',
              type: 'kind',
              kind: 'input',
              metric: 'in_events',
            },
            { match: '^shop_depth$', id: 'store', kind: 'output', metric: 'queue_size', fold: 'sum' },
            { match: '^shop_room$', id: 'store', kind: 'output', metric: 'queue_capacity' },
          ],
        },
      ],
    },
  });
  writeFileText(
    `${server.config}/lists`,
    'shop.yml',
    `- targets: ['${address}']\n  labels: { instance: shop-1 }\n`,
  );
});

afterAll(async () => {
  await server.stop();
  await end();
});

const items = async (path: string) => JSON.parse((await server.call('GET', path)).text).items;
const engineNow = async () => (await items('/api/v1/system/engines'))[0];

it('reads instances that a file lists by rules of the user, from OpenMetrics text', async () => {
  await until(async () => (await engineNow()).state === 'reachable', 'a reading');
  taken += 25;
  await until(
    async () => (await items('/api/v1/system/inputs'))[0]?.status.metrics.in_events === 25,
    'the increase',
  );
  expect(await items('/api/v1/system/inputs')).toMatchObject([
    {
      id: 'orders',
      type: 'amqp',
      status: { health: 'Green', metrics: { in_events: 25 } },
      headgate: { pipeline: 'shop', engine: 'custom', replicas: 1 },
    },
  ]);
  expect(await items('/api/v1/system/outputs')).toMatchObject([
    { id: 'lake', type: 'custom', status: { metrics: { queue_size: 42, queue_capacity: 60 } } },
  ]);
});

it('takes nothing of a page without its end', async () => {
  hasEnd = false;
  await until(async () => (await engineNow()).state === 'unreachable', 'the page that was cut');
  expect((await engineNow()).error).toMatch(/cut short: OpenMetrics text without # EOF/);
  const { text } = await server.call('GET', '/metrics', { headers: [] });
  expect(text).toMatch(/headgate_pipeline_readings_failed_total\{pipeline="shop",reason="format"\} [1-9]/);
  hasEnd = true;
  await until(async () => (await engineNow()).state === 'reachable', 'a whole page');
});

it('tells where engines are listed that a list is broken, and reads on', async () => {
  writeFileText(`${server.config}/lists`, 'shop.yml', '- targets: [');
  await until(async () => (await engineNow()).error !== undefined, 'the error');
  expect(await engineNow()).toMatchObject({
    state: 'reachable',
    error: expect.stringMatching(/^lists\/shop\.yml: line \d+: /),
    instances: 1,
  });
  expect(server.log()).toContain('A list of instances cannot be read as a whole');
});
