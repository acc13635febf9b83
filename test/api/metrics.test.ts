import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { sink, webhook } from '../acceptance/harness.ts';
import { until } from '../helpers/until.ts';
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

const sampleIn = (text: string, sample: string): number | undefined => {
  const line = text.split('\n').find(one => one.startsWith(`${sample} `));
  return line === undefined ? undefined : Number(line.slice(sample.length + 1));
};

it('counts what is told and sent, by target and condition', async () => {
  const hook = await sink();
  const conf = { name: 'a:b', timeWindow: '1s' };
  const server = await startApiServer({
    notifications: {
      targets: [webhook('hook', hook), { id: 'dead', type: 'webhook', url: 'http://127.0.0.1:1/' }],
      notifications: [{ id: 'n', condition: 'no-data', targets: ['hook', 'dead'], conf }],
    },
  });
  try {
    let text = '';
    await until(async () => {
      ({ text } = await read(server));
      const arrived = 'headgate_deliveries_settled_total{target="hook",state="sent"}';
      const failed = 'headgate_delivery_attempts_total{target="dead",outcome="retry"}';
      return sampleIn(text, arrived) === 1 && (sampleIn(text, failed) ?? 0) > 0;
    }, 'the attempts');
    expect(sampleIn(text, 'headgate_transitions_total{condition="no-data",status="ALARM"}')).toBe(1);
    expect(sampleIn(text, 'headgate_incidents_open{condition="no-data"}')).toBe(1);
    expect(sampleIn(text, 'headgate_deliveries_waiting{target="dead"}')).toBe(1);
    expect(sampleIn(text, 'headgate_deliveries_waiting{target="hook"}')).toBe(0);
    expect(sampleIn(text, 'headgate_delivery_oldest_waiting_seconds{target="dead"}')).toBeGreaterThan(0);
    const arrivedAt = sampleIn(text, 'headgate_delivery_last_success_timestamp_seconds{target="hook"}') ?? 0;
    expect(Math.abs(Date.now() / 1000 - arrivedAt)).toBeLessThan(60);
    expect(sampleIn(text, 'headgate_store_commit_duration_seconds_count')).toBeGreaterThanOrEqual(3);
    expect(sampleIn(text, 'headgate_store_operations_waiting')).toBe(0);
    expect(sampleIn(text, 'headgate_store_size_bytes')).toBeGreaterThan(4096);

    writeFileSync(join(server.config, 'notifications.yml'), '');
    await until(async () => {
      ({ text } = await read(server));
      return !text.includes('headgate_deliveries_waiting{target="dead"}');
    }, 'the removal');
  } finally {
    await server.stop();
  }
});

it('counts logins by their outcome, and requests by their route alone', async () => {
  const send = (password: string) =>
    guarded.call('POST', '/api/v1/auth/login', {
      headers: [['content-type', 'application/json']],
      body: JSON.stringify({ username: 'admin', password }),
    });
  await send('wrong');
  await guarded.call('GET', '/api/v1/system/inputs', { headers: [['authorization', 'Bearer nonsense']] });
  await guarded.call('GET', '/made/up/by/a/caller');
  const { text } = await read(guarded, ['authorization', `Bearer ${TOKEN}`]);
  expect(sampleIn(text, 'headgate_logins_total{outcome="ok"}')).toBe(1);
  expect(sampleIn(text, 'headgate_logins_total{outcome="unauthenticated"}')).toBe(1);
  expect(sampleIn(text, 'headgate_tokens_refused_total')).toBeGreaterThanOrEqual(1);
  const requests = 'headgate_http_request_duration_seconds_count';
  expect(sampleIn(text, `${requests}{method="POST",route="/api/v1/auth/login",status="401"}`)).toBe(1);
  expect(sampleIn(text, `${requests}{method="(unknown)",route="(unknown)",status="404"}`)).toBe(1);
  expect(text).not.toContain('made/up');
});

it('is described whole in the reference', async () => {
  const { text } = await read(open);
  const told = [...text.matchAll(/^# HELP (\S+) (.*)\n# TYPE \S+ (\S+)$/gm)].map(([, name, help, type]) => ({
    name,
    type,
    help,
  }));
  const page = readFileSync(join(import.meta.dirname, '../../docs/reference/metrics.md'), 'utf8');
  const rows = [...page.matchAll(/^\| `(\w+)` \| (\w+) \| (.*?) ?\| (.*) \|$/gm)].map(
    ([, name, type, labels, help]) => ({
      name,
      type,
      labels: (labels ?? '')
        .replaceAll('`', '')
        .split(', ')
        .filter(label => label !== ''),
      help,
    }),
  );
  expect(told.length).toBeGreaterThan(20);
  expect(rows.map(({ name, type, help }) => ({ name, type, help }))).toEqual(
    told.sort((one, other) => ((one.name ?? '') < (other.name ?? '') ? -1 : 1)),
  );
  for (const [, metric = '', inside = ''] of text.matchAll(/^(\w+?)(?:_bucket|_sum|_count)?\{(.*)\} /gm)) {
    const labels = [...inside.matchAll(/(\w+)="/g)].map(([, label]) => label).filter(label => label !== 'le');
    expect(rows.find(row => row.name === metric)?.labels.sort(), metric).toEqual(labels.sort());
  }
  for (const [, used = ''] of page.slice(page.indexOf('## Alerts')).matchAll(/\b((?:headgate|nodejs)_\w+)/g))
    expect(rows.map(({ name }) => name)).toContain(used.replace(/_bucket$/, ''));
});
