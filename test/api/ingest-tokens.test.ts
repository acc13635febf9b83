import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ApiServer, JSON_BODY, startApiServer } from './api-server.ts';
import { jsonCaller } from './json.ts';

const PATH = '/system/ingest-tokens';
const IN_FILE = 'token-of-the-configuration';
const IMPSTATS = '{ "name": "tcp_in(10514)", "origin": "imtcp", "submitted": 7 }\n';

let server: ApiServer;
let call: ReturnType<typeof jsonCaller>;
const secrets: string[] = [];

beforeAll(async () => {
  server = await startApiServer({
    settings: {
      pipelines: [
        { id: 'own', engine: 'custom', push: true, token: IN_FILE },
        { id: 'syslog', engine: 'rsyslog', push: true },
        { id: 'read', engine: 'vector', url: 'http://127.0.0.1:9/metrics', interval: '1h' },
      ],
    },
  });
  call = jsonCaller(server);
});

afterAll(() => server.stop());

async function issued(path: string, body: object): Promise<{ id: string; secret: string }> {
  const { status, body: answer } = await call('POST', path, body);
  expect(status).toBe(200);
  const [token] = answer.items;
  secrets.push(token.secret);
  return token;
}

async function push(token: string, path = 'samples') {
  const samples = [{ kind: 'input', type: 'kafka', id: 'a', metric: 'in_events', value: 1 }];
  const answer = await server.call('POST', `/ingest/${path}`, {
    headers: [['authorization', `Bearer ${token}`], JSON_BODY],
    body: path === 'samples' ? JSON.stringify({ samples }) : IMPSTATS,
  });
  return { status: answer.status, message: JSON.parse(answer.text).message };
}
const statusOf = async (token: string, path?: string) => (await push(token, path)).status;

describe('an ingest token', () => {
  it('lets its sender push beside the token of the configuration, for its own pipeline only', async () => {
    const { id, secret } = await issued(PATH, { pipeline: 'own', description: 'Kafka in Zürich' });
    expect(secret).toMatch(/^hgi_[0-9A-Za-z]{43}_[0-9A-Za-z]{6}$/);
    expect(await statusOf(secret)).toBe(200);
    expect(await statusOf(IN_FILE)).toBe(200);
    expect(await push(secret, 'impstats')).toMatchObject({
      status: 403,
      message: expect.stringContaining("'own'"),
    });
    const { body } = await call('GET', `${PATH}/${id}`);
    expect(body.items).toEqual([
      {
        id,
        pipeline: 'own',
        description: 'Kafka in Zürich',
        enabled: true,
        createdAt: expect.stringMatching(/Z$/),
        expiresAt: null,
        lastUsedAt: expect.stringMatching(/Z$/),
        rotatedAt: body.items[0].createdAt,
      },
    ]);
  });

  it('opens a pipeline that has no token in the configuration', async () => {
    const { secret } = await issued(PATH, { id: 'rsyslog-1', pipeline: 'syslog' });
    expect(await statusOf(secret, 'impstats')).toBe(200);
    expect((await call('GET', `${PATH}?pipeline=syslog&limit=1`)).body).toMatchObject({
      count: 1,
      totalCount: 1,
      items: [{ id: 'rsyslog-1' }],
    });
  });

  it('ends with its removal, its time, and while it is disabled, as if it had never been', async () => {
    const { id, secret } = await issued(PATH, { pipeline: 'own' });
    const unknown = await push('nobody-knows-this-token');
    const change = (body: object) => call('PATCH', `${PATH}/${id}`, body);
    await change({ enabled: false });
    expect(await push(secret)).toEqual({ ...unknown, status: 401 });
    await change({ enabled: true });
    expect(await statusOf(secret)).toBe(200);
    const soon = new Date(Date.now() + 1000).toISOString();
    expect((await change({ expiresAt: soon })).body.items[0].expiresAt).toBe(soon);
    await expect.poll(() => push(secret)).toEqual(unknown);
    await change({ expiresAt: null });
    expect(await statusOf(secret)).toBe(200);
    expect((await call('DELETE', `${PATH}/${id}`)).body.items).toMatchObject([{ id }]);
    expect(await push(secret)).toEqual(unknown);
    expect((await call('GET', `${PATH}/${id}`)).status).toBe(404);
  });

  it('is told to be mistyped by its checksum', async () => {
    const { secret } = await issued(PATH, { pipeline: 'own' });
    const swapped = secret.replace(/^(hgi_)(.)/, (_, start, one) => `${start}${one === 'a' ? 'b' : 'a'}`);
    for (const wrong of [swapped, secret.slice(0, -1)])
      expect(await push(wrong)).toEqual({ status: 401, message: expect.stringContaining('mistyped') });
  });

  it('has two secrets at most, the former one for the time of grace', async () => {
    const { id, secret: first } = await issued(PATH, { pipeline: 'own' });
    const before = Date.now();
    const second = await issued(`${PATH}/${id}/rotate`, {});
    expect([await statusOf(first), await statusOf(second.secret)]).toEqual([200, 200]);
    const { formerEndsAt } = (await call('GET', `${PATH}/${id}`)).body.items[0];
    expect(Date.parse(formerEndsAt) - before).toBeGreaterThanOrEqual(24 * 3_600_000);
    const third = await issued(`${PATH}/${id}/rotate`, { grace: '7d' });
    expect([await statusOf(first), await statusOf(second.secret)]).toEqual([401, 200]);
    const fourth = await issued(`${PATH}/${id}/rotate`, { grace: '0s' });
    expect([await statusOf(third.secret), await statusOf(fourth.secret)]).toEqual([401, 200]);
    const long = await call('POST', `${PATH}/${id}/rotate`, { grace: '8d' });
    expect([long.status, long.body.errors[0].path]).toEqual([400, 'grace']);
  });

  it.each([
    ['a pipeline that is not there', { pipeline: 'nobody' }, 'pipeline'],
    ['a pipeline that is read', { pipeline: 'read' }, 'pipeline'],
    ['no pipeline', {}, 'pipeline'],
    ['a time that has passed', { pipeline: 'own', expiresAt: '2020-01-01T00:00:00Z' }, 'expiresAt'],
    ['a time that is none', { pipeline: 'own', expiresAt: 'tomorrow' }, 'expiresAt'],
    ['an id that is none', { pipeline: 'own', id: 'a b' }, 'id'],
    ['a secret of its own', { pipeline: 'own', secret: 'x' }, ''],
  ])('is not made with %s', async (_, body, path) => {
    const answer = await call('POST', PATH, body);
    expect([answer.status, answer.body.errors[0].path]).toEqual([400, path]);
  });

  it('keeps its id and its pipeline, of which no other can take the one', async () => {
    await issued(PATH, { id: 'fixed', pipeline: 'own' });
    expect((await call('POST', PATH, { id: 'fixed', pipeline: 'own' })).status).toBe(409);
    for (const body of [{ id: 'other' }, { pipeline: 'syslog' }])
      expect((await call('PATCH', `${PATH}/fixed`, body)).status).toBe(400);
    const same = { id: 'fixed', pipeline: 'own', description: 'the same' };
    expect((await call('PATCH', `${PATH}/fixed`, same)).body.items).toMatchObject([same]);
  });
});

it('writes who made, rotated, changed and removed one, and no secret anywhere', async () => {
  await issued(PATH, { id: 'told', pipeline: 'own' });
  await issued(`${PATH}/told/rotate`, { grace: '1h' });
  await call('PATCH', `${PATH}/told`, { enabled: false });
  await call('DELETE', `${PATH}/told`);
  const { body, text } = await call('GET', '/audit?target=told');
  expect(body.items.map(({ action, actor }: { action: string; actor: string }) => [action, actor])).toEqual(
    ['remove', 'update', 'rotate', 'create'].map(verb => [`ingestTokens.${verb}`, 'admin']),
  );
  const files = readdirSync(server.data, { withFileTypes: true }).filter(one => one.isFile());
  const seen = [text, server.log(), (await call('GET', PATH)).text];
  const onDisk = files.map(({ name }) => readFileSync(join(server.data, name)));
  expect(secrets.length).toBeGreaterThan(5);
  for (const secret of secrets) {
    const telling = secret.slice(4, 47);
    expect(seen.filter(one => one.includes(telling))).toEqual([]);
    expect(onDisk.filter(one => one.includes(telling))).toEqual([]);
  }
});
