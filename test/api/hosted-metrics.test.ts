import { afterAll, beforeAll, expect, it } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { sink, webhook } from '../acceptance/harness.ts';
import { startHostedApp } from '../helpers/hosted-app.ts';
import { until } from '../helpers/until.ts';

const TOKEN = 'token-of-the-metrics';
const PUSH_TOKEN = 'token-of-a-pipeline';

let hosted: Awaited<ReturnType<typeof startHostedApp>>;

beforeAll(async () => {
  hosted = await startHostedApp({ clock: systemClock, settings: { metrics: { token: TOKEN } } });
});
afterAll(() => hosted.stop());

const read = async (host?: string): Promise<string> => {
  const answer = await hosted.call('/metrics', { token: TOKEN, ...(host !== undefined && { host }) });
  expect(answer.status).toBe(200);
  return answer.body;
};

const sampleIn = (text: string, name: string, labels: Readonly<Record<string, string>>) => {
  const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
  const line = text.split('\n').find(one => {
    const [, found = ''] = /^[^{]*\{(.*)\} /.exec(one) ?? [];
    return one.startsWith(`${name}{`) && wanted.sort().join() === found.split(',').sort().join();
  });
  return line === undefined ? undefined : Number(line.slice(line.lastIndexOf(' ') + 1));
};

const acme = { organization: 'acme', workspace: 'main' };
const corp = { organization: 'corp', workspace: 'main' };

/** Puts these files in force in a workspace. */
async function configure(label: string, files: Readonly<Record<string, object>>): Promise<void> {
  const texts = Object.fromEntries(Object.entries(files).map(([name, file]) => [name, JSON.stringify(file)]));
  const sent = { method: 'PUT', body: { files: texts } };
  const { status, body } = await hosted.api(label, '/system/config/files', sent);
  expect([status, body]).toEqual([200, expect.anything()]);
}

it('tells the workspaces of pipelines, targets and conditions of the same name apart', async () => {
  const hook = await sink();
  const edge = {
    id: 'edge',
    engine: 'vector',
    push: false,
    url: 'http://127.0.0.1:1/metrics',
    interval: '1s',
  };
  const pushing = { id: 'edge', engine: 'custom', push: true, token: PUSH_TOKEN };
  const silent = {
    id: 'n',
    condition: 'no-data',
    targets: ['hook'],
    conf: { name: 'a:b', timeWindow: '3s' },
  };
  await configure('main-acme', {
    'headgate.yml': { pipelines: [edge] },
    'notifications.yml': { targets: [webhook('hook', hook)], notifications: [silent] },
  });
  await configure('main-corp', {
    'headgate.yml': { pipelines: [pushing] },
    'notifications.yml': { targets: [webhook('hook', hook)], notifications: [] },
  });
  const push = { method: 'POST', token: PUSH_TOKEN, host: 'main-corp.localhost' };
  expect((await hosted.call('/ingest/samples', { ...push, body: { samples: 5 } })).status).toBe(400);
  let text = '';
  await until(async () => {
    text = await read();
    return (
      sampleIn(text, 'headgate_deliveries_settled_total', { ...acme, target: 'hook', state: 'sent' }) === 1
    );
  }, 'the delivery');
  const reachable = (of: object) =>
    sampleIn(text, 'headgate_pipeline_reachable', { ...of, pipeline: 'edge' });
  expect([reachable(acme), reachable(corp)]).toEqual([0, undefined]);
  const alarms = { condition: 'no-data', status: 'ALARM' };
  expect(sampleIn(text, 'headgate_transitions_total', { ...acme, ...alarms })).toBe(1);
  expect(sampleIn(text, 'headgate_transitions_total', { ...corp, ...alarms })).toBeUndefined();
  expect(sampleIn(text, 'headgate_incidents_open', { ...acme, condition: 'no-data' })).toBe(1);
  for (const of of [acme, corp])
    expect(sampleIn(text, 'headgate_deliveries_waiting', { ...of, target: 'hook' })).toBe(0);
  const refused = { pipeline: 'edge', code: 'invalid-request' };
  expect(sampleIn(text, 'headgate_ingest_refused_total', { ...corp, ...refused })).toBe(1);
  expect(sampleIn(text, 'headgate_ingest_refused_total', { ...acme, ...refused })).toBeUndefined();
  expect(text).not.toMatch(
    /^headgate_(deliver|pipeline|target|transition|ingest|incident|component|history|retention).*\{(?!.*organization=)/m,
  );
});

it('tells what is of the installation once, without a workspace', async () => {
  const text = await read();
  for (const name of ['headgate_store_commit_duration_seconds_count', 'process_start_time_seconds'])
    expect(text.split('\n').filter(line => line.startsWith(`${name} `))).toHaveLength(1);
  expect(text).toMatch(/^headgate_configuration_ok 1$/m);
  expect(sampleIn(text, 'headgate_configuration_ok', corp)).toBe(1);
  const heads = text.split('\n').filter(line => line.startsWith('# TYPE'));
  expect(new Set(heads).size).toBe(heads.length);
});

it('is at no host of a workspace, whatever is sent along', async () => {
  for (const host of ['main-acme.localhost', 'MAIN-CORP.localhost.:80', 'none-such.localhost'])
    for (const token of [TOKEN, undefined])
      expect((await hosted.call('/metrics', { host, ...(token && { token }) })).status).toBe(404);
  await read('metrics.localhost');
});

it('asks this machine for the token, too', async () => {
  expect((await hosted.call('/metrics')).status).toBe(401);
  expect((await hosted.call('/metrics', { token: 'another-long-token' })).status).toBe(401);
  const bare = await startHostedApp({ clock: systemClock });
  try {
    expect((await bare.call('/metrics')).status).toBe(401);
  } finally {
    await bare.stop();
  }
});

it('forgets a workspace that is removed', async () => {
  const fresh = { organization: 'acme', workspace: 'fresh' };
  const isTold = async (): Promise<boolean> =>
    sampleIn(await read(), 'headgate_configuration_ok', fresh) === 1;
  await hosted.plane('acme', '/workspaces', { method: 'POST', body: { workspaceId: 'fresh' } });
  await until(isTold, 'the new workspace');
  await hosted.plane('acme', '/workspaces/fresh', { method: 'DELETE' });
  await until(async () => !(await isTold()), 'its end');
});
