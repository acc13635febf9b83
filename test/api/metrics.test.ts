import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { until } from '../acceptance/until.ts';
import { type ApiServer, startApiServer } from './api-server.ts';

const TOKEN = 'token-of-the-metrics';
let open: ApiServer;
let guarded: ApiServer;

beforeAll(async () => {
  const pipelines = [{ id: 'edge', engine: 'vector', url: 'http://127.0.0.1:1/metrics', interval: '1s' }];
  open = await startApiServer({ settings: { pipelines } });
  guarded = await startApiServer({ settings: { metrics: { token: TOKEN } } });
});

afterAll(async () => {
  await open.stop();
  await guarded.stop();
});

const read = (server: ApiServer, ...headers: (readonly [string, string])[]) =>
  server.call('GET', '/metrics', { headers });

it('tells this machine how the installation is, without a token', async () => {
  const answer = await read(open);
  expect(answer.status).toBe(200);
  expect(answer.headers['content-type']).toContain('text/plain');
  expect(answer.text).toContain('headgate_configuration_ok 1');
  expect(answer.text).toContain('headgate_components{kind="input"} 0');
  expect(answer.text).toContain('headgate_incidents_open 0');
  expect(answer.text).toContain('headgate_deliveries{state="waiting"} 0');
  await until(
    async () => (await read(open)).text.includes('headgate_pipeline_reachable{pipeline="edge"} 0'),
    'a reading',
  );
});

it('does not take what a proxy hands on for this machine', async () => {
  expect((await read(open, ['x-forwarded-for', '203.0.113.9'])).status).toBe(401);
});

it('asks for the token where one is set', async () => {
  expect((await read(guarded)).status).toBe(401);
  expect((await read(guarded, ['authorization', 'Bearer another-long-token'])).status).toBe(401);
  expect((await read(guarded, ['authorization', `Bearer ${TOKEN}`])).status).toBe(200);
});

it('says when the files on disk are not in force', async () => {
  writeFileSync(join(open.config, 'notifications.yml'), 'targets: [');
  await until(async () => (await read(open)).text.includes('headgate_configuration_ok 0'), 'the error');
});
