import { createServer } from 'node:http';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { noData } from '../acceptance/files.ts';
import { listenLocally } from '../acceptance/listen-locally.ts';
import { type ApiServer, startApiServer } from './api-server.ts';
import { jsonCaller } from './json.ts';

const TIMEOUT_MS = 30_000;

/** Undefined: the page answers 500. */
let named: readonly string[] | undefined = ['app', 'web'];
let served = 0;
let server: ApiServer;
let call: ReturnType<typeof jsonCaller>;
let end: () => Promise<void>;

beforeAll(async () => {
  const page = createServer((_, response) => {
    served++;
    if (named === undefined) response.writeHead(500);
    const lines = (named ?? []).map(
      id =>
        `vector_component_received_events_total{component_id="${id}",component_kind="source",component_type="syslog"} ${served}\n`,
    );
    response.end(`vector_uptime_seconds ${served}\n${lines.join('')}`);
  });
  const listening = await listenLocally(page);
  end = listening.end;
  server = await startApiServer({
    settings: {
      pipelines: [{ id: 'edge', engine: 'vector', url: `${listening.url}/metrics`, interval: '1s' }],
    },
    notifications: {
      targets: [{ id: 'board', type: 'bulletin_message' }],
      notifications: [noData('all', 'syslog:*', '3s', 'board'), noData('named', 'syslog:app', '3s', 'board')],
    },
  });
  call = jsonCaller(server);
});

afterAll(async () => {
  await server.stop();
  await end();
});

const input = async (id: string) => (await call('GET', `/system/inputs/${id}`)).body.items?.[0];
const remove = (id: string) => call('DELETE', `/system/inputs/${id}`);
const incidents = async (state: string) =>
  (await call('GET', `/incidents?state=${state}`)).body.items.filter(
    ({ subject }: { subject: string }) => subject === 'edge/syslog:app',
  );
const isNow = (presence: string) =>
  expect.poll(async () => (await input('app'))?.status.presence, { timeout: TIMEOUT_MS }).toBe(presence);

it('removes an input that is gone, which closes its incidents, and none that is there', async () => {
  await isNow('present');
  const refused = await remove('app');
  expect(refused).toMatchObject({
    status: 409,
    body: { code: 'conflict', message: "input 'app' is there as long as pipeline 'edge' has it" },
  });

  named = undefined;
  await isNow('unknown');
  expect((await remove('app')).body.message).toMatch(
    /^whether input 'app' is gone is not known: pipeline unreachable: http:.*: answered 500$/,
  );

  named = ['web'];
  await isNow('gone');
  expect((await input('app')).status).toMatchObject({
    health: 'Unknown',
    presence: 'gone',
    error: { message: 'its page no longer names it' },
  });
  await expect.poll(() => incidents('open'), { timeout: TIMEOUT_MS }).toHaveLength(2);
  const removed = await remove('app');
  expect(removed).toMatchObject({
    status: 200,
    body: { items: [{ id: 'app', status: { presence: 'gone' } }] },
  });
  expect(await incidents('open')).toEqual([]);
  expect(await incidents('closed')).toMatchObject([
    { closeReason: 'the input was removed' },
    { closeReason: 'the input was removed' },
  ]);
  expect((await call('GET', '/system/inputs/app')).status).toBe(404);
  const audit = (await call('GET', '/audit?limit=50')).body.items;
  expect(audit).toContainEqual(expect.objectContaining({ action: 'inputs.remove', target: 'app' }));

  named = ['app', 'web'];
  await isNow('present');
}, 90_000);

it('says that an input is gone in the reason of its alarm', async () => {
  named = ['web', 'late'];
  await expect
    .poll(async () => (await input('late'))?.headgate.lastDataAt, { timeout: TIMEOUT_MS })
    .toEqual(expect.any(String));
  named = ['web'];
  await expect
    .poll(
      async () =>
        (await call('GET', '/incidents?notification=all')).body.items.map(
          ({ text }: { text: string }) => text,
        ),
      { timeout: TIMEOUT_MS },
    )
    .toContain('Source syslog:late had no data for 3s: its page no longer names it');
}, 60_000);
