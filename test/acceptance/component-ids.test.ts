import { Client } from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import { ask, type HostedCall, hostedInstallation } from '../helpers/hosted.ts';
import { createPostgresDatabase } from '../helpers/postgres.ts';
import type { Served } from './bin.ts';
import { noData, sink, until, webhook } from './harness.ts';

const PIPELINES = ['one', 'other'].map(id => ({
  ...{ id, engine: 'custom', push: true },
  token: `token-of-pipeline-${id}`,
}));

/** Which snapshot is whole; undefined before the first. */
async function lastSnapshot(url: string): Promise<unknown> {
  const client = new Client(url);
  await client.connect();
  const { rows } = await client.query('select id from snapshots where part = 0');
  await client.end();
  return rows[0]?.id;
}

/** A workspace on PostgreSQL, and processes that can lead it. */
async function workspace() {
  const database = await createPostgresDatabase();
  onTestFinished(database.remove);
  const { cli, serve, serveLogin, port, tokenFor } = await hostedInstallation(database.url);
  await cli('org', 'create', 'acme', '--owner', 'ann@acme.example', '--workspace', 'main');
  const robot = await cli('credentials', 'create', 'robot', '--org', 'acme', '--role', 'owner', '--json');
  const [, leader] = await Promise.all([serveLogin(), serve(port)]);
  const token = await tokenFor(JSON.parse(robot));
  const host = `main-acme.localhost:${port}`;
  return {
    ...{ database, leader, follow: () => serve(0) },
    api: ({ url }: Served, path: string, call: HostedCall = {}) =>
      ask(`${url}/api/v1${path}`, { host, token, ...call }),
    /** Pushes increases of the input `in`, until a process takes them. */
    push: ({ url }: Served, pipeline: string, value: number) =>
      until(async () => {
        const body = { samples: [{ kind: 'input', type: 'file', id: 'in', metric: 'in_events', value }] };
        const secret = PIPELINES.find(({ id }) => id === pipeline)?.token ?? '';
        const call = { host, token: secret, method: 'POST', body: { temporality: 'delta', ...body } };
        return (await ask(`${url}/ingest/samples`, call)).status === 200;
      }, `a push of ${pipeline}`),
  };
}

it('keeps ids and silence over the death of the process that leads, and ids without what it knew as well', async () => {
  const hook = await sink();
  const { database, leader, follow, api, push } = await workspace();
  const settings = { method: 'PATCH', body: { pipelines: PIPELINES } };
  await until(async () => (await api(leader, '/system/settings/conf', settings)).status === 200, 'a leader');
  await api(leader, '/notification-targets', { method: 'POST', body: webhook('hook', hook) });
  const silent = { method: 'POST', body: noData('silent', 'file:*', '20s') };
  expect((await api(leader, '/notifications', silent)).status).toBe(200);
  const idsAt = async (server: Served): Promise<readonly string[]> => {
    const { items = [] } = (await api(server, '/system/inputs')).body;
    return items
      .map(({ id, headgate }: { id: string; headgate: { pipeline: string } }) => `${headgate.pipeline} ${id}`)
      .sort();
  };
  const snapshot = () => lastSnapshot(database.url);

  await push(leader, 'one', 5);
  await push(leader, 'other', 5);
  const ids = await idsAt(leader);
  expect(ids).toEqual(['one in', expect.stringMatching(/^other in_[0-9a-f]{6}$/)]);
  const before = await snapshot();
  await until(async () => (await snapshot()) !== before, 'a snapshot that has both');
  const second = await follow();
  await leader.kill();
  await until(async () => (await idsAt(second)).length > 0, 'the second process leads');
  expect(await idsAt(second)).toEqual(ids);
  // Nothing names the inputs any more: what they were silent for before is all that is known of them.
  await until(() => hook.events().length === 2, 'the alarms of both');
  expect(hook.events().map(({ status, input }) => `${status} ${input}`)).toEqual([
    'ALARM file:in',
    'ALARM file:in',
  ]);

  await second.kill();
  await database.run('delete from snapshots');
  const third = await follow();
  await push(third, 'other', 1);
  await push(third, 'one', 1);
  expect(await idsAt(third)).toEqual(ids);
  await until(() => hook.events().length === 4, 'the ends of both alarms');
  expect(hook.events().filter(({ status }) => status === 'ALARM')).toHaveLength(2);
});
