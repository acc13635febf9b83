import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { noData, writeFileText } from '../acceptance/files.ts';
import { type ApiServer, JSON_BODY, startApiServer } from './api-server.ts';
import { jsonCaller } from './json.ts';

const TOKEN = 'token-of-the-engine';

let server: ApiServer;
let call: ReturnType<typeof jsonCaller>;

beforeAll(async () => {
  server = await startApiServer({
    settings: { pipelines: [{ id: 'own', engine: 'custom', push: true, token: TOKEN, group: 'shop' }] },
    notifications: {
      targets: [{ id: 'board', type: 'bulletin_message' }],
      notifications: [
        noData('till_silent', 'syslog:till', '1s', 'board'),
        noData('all', 'http:*', '1h', 'board'),
      ],
    },
  });
  call = jsonCaller(server);
  await push('till', 'syslog');
  await push('a/b', 'http');
});

afterAll(() => server.stop());

beforeEach(() => given(''));

async function push(id: string, type: string): Promise<void> {
  const samples = [{ kind: 'input', type, id, metric: 'in_events', value: 1 }];
  const answer = await server.call('POST', '/ingest/samples', {
    headers: [['authorization', `Bearer ${TOKEN}`], JSON_BODY],
    body: JSON.stringify({ instance: 'one', temporality: 'delta', samples }),
  });
  expect(answer.status).toBe(200);
}

const path = (): string => join(server.config, 'inputs.yml');
const file = (): string => (existsSync(path()) ? readFileSync(path(), 'utf8') : '');

async function given(text: string): Promise<void> {
  writeFileText(server.config, 'inputs.yml', text);
  expect((await call('DELETE', '/notifications/nobody')).status).toBe(404);
}

const ids = async (at: string): Promise<string[]> =>
  (await call('GET', at)).body.items.map(({ id }: { id: string }) => id);

describe('inputs', () => {
  it('keep the digits of large numbers, from the file and from what is sent', async () => {
    await given('inputs:\n  - {id: never, type: s3, account: 12345678901234567890, most: .inf}\n');
    const [never] = (await call('GET', '/system/inputs/never')).body.items;
    expect(never).toMatchObject({ account: '12345678901234567890', most: '.inf' });
    const changed = await call('PATCH', '/system/inputs/never', '{"owner":98765432109876543210,"size":5}');
    expect(changed.body.items[0]).toMatchObject({
      account: '12345678901234567890',
      owner: '98765432109876543210',
      size: 5,
    });
    expect(file()).toContain('account: 12345678901234567890, most: .inf');
    const refused = await call(
      'PATCH',
      '/system/settings/conf',
      '{"api":{"authTokenTTL":12345678901234567890}}',
    );
    expect([refused.status, refused.body.errors]).toEqual([
      400,
      [{ path: 'api.authTokenTTL', message: expect.stringContaining('out of range') }],
    ]);
  });

  it('are one item, whether declared, seen or both', async () => {
    await given(
      'inputs:\n  - {id: never, type: s3, bucket: b}\n  - {id: till, type: syslog, pipeline: main}\n',
    );
    expect(await ids('/system/inputs')).toEqual(['never', 'till', 'a_b']);
    expect(await ids('/system/status/inputs')).toEqual(['never', 'till', 'a_b']);
    expect(await ids('/system/inputs?type=s3')).toEqual(['never']);
    const [never] = (await call('GET', '/system/inputs/never')).body.items;
    expect(never).toMatchObject({
      bucket: 'b',
      disabled: false,
      group: 'default',
      status: { health: 'Unknown', healthCounts: { Green: 0 } },
      headgate: { declared: true, replicas: 0, lastDataAt: null },
    });
    const [till] = (await call('GET', '/system/inputs/till')).body.items;
    expect(till).toMatchObject({
      pipeline: 'main',
      group: 'shop',
      notifications: [{ id: 'till_silent' }],
      headgate: { declared: true, pipeline: 'own', engineId: 'till', replicas: 1 },
    });
    expect((await call('GET', '/system/inputs/a_b')).body.items[0]).toMatchObject({
      headgate: { declared: false, engineId: 'a/b' },
    });
  });

  it('are declared by POST, with keys that only the caller knows', async () => {
    const body = { id: 'new', type: 'kafka', brokers: ['a:9092', 'b:9092'], tls: { minVersion: null } };
    const answer = await call('POST', '/system/inputs', { ...body, status: {}, notifications: [] });
    expect(answer.body.items[0]).toMatchObject({ ...body, headgate: { declared: true } });
    expect(file()).not.toMatch(/status|notifications|disabled|group/);
    expect((await call('POST', '/system/inputs', body)).status).toBe(409);
    expect((await call('POST', '/system/inputs', { id: 'untyped' })).body.errors).toMatchObject([
      { path: 'type' },
    ]);
  });

  it('that were only seen are declared by the first PATCH', async () => {
    const { etag = '' } = await call('GET', '/system/inputs/a_b');
    const answer = await call(
      'PATCH',
      '/system/inputs/a_b',
      { description: 'of the web' },
      { 'if-match': etag },
    );
    expect(answer.body.items[0]).toMatchObject({
      type: 'http',
      group: 'shop',
      description: 'of the web',
      headgate: { declared: true, engineId: 'a/b' },
    });
    expect(file()).not.toContain('group');
    expect(answer.etag).not.toBe(etag);
  });

  it('that were only seen can be declared by POST as well, whoever comes first', async () => {
    expect((await call('POST', '/system/inputs', { id: 'till', type: 'syslog' })).status).toBe(200);
    expect(await ids('/system/inputs')).toEqual(['till', 'a_b']);
  });

  it('lose their declaration by DELETE, and stay while a pipeline has them', async () => {
    await given('inputs:\n  - {id: till, type: syslog, description: d}\n  - {id: never, type: s3}\n');
    expect((await call('DELETE', '/system/inputs/till')).body.items).toMatchObject([
      { id: 'till', description: 'd', headgate: { declared: true } },
    ]);
    expect((await call('GET', '/system/inputs/till')).body.items[0].headgate.declared).toBe(false);
    expect((await call('DELETE', '/system/inputs/till')).status).toBe(409);
    expect((await call('DELETE', '/system/inputs/never')).status).toBe(200);
    expect((await call('DELETE', '/system/inputs/never')).status).toBe(404);
  });

  it('have no incidents while they are disabled', async () => {
    const incidents = async (state: string) =>
      (await call('GET', `/incidents?notification=till_silent&state=${state}`)).body.items;
    await expect.poll(() => incidents('open')).toHaveLength(1);
    const closed = (await incidents('closed')).length;
    await call('PATCH', '/system/inputs/till', { disabled: true });
    await expect.poll(() => incidents('closed')).toHaveLength(closed + 1);
    expect(await incidents('open')).toEqual([]);
    expect((await incidents('closed'))[0].closeReason).toBe('the input was disabled');
    await call('PATCH', '/system/inputs/till', { disabled: false });
    await expect.poll(() => incidents('open')).toHaveLength(1);
  });
});

describe('outputs', () => {
  it('are written into their own file', async () => {
    await call('POST', '/system/outputs', { id: 'archive', type: 's3', bucket: 'b' });
    expect(readFileSync(join(server.config, 'outputs.yml'), 'utf8')).toContain('bucket: b');
    await call('PATCH', '/system/outputs/archive', { id: 'archive', type: 's3' });
    expect((await call('GET', '/system/outputs/archive')).body.items[0]).not.toHaveProperty('bucket');
    expect(await ids('/system/outputs')).toEqual(['archive']);
    await call('DELETE', '/system/outputs/archive');
    expect(await ids('/system/outputs')).toEqual([]);
  });
});

describe('groups', () => {
  it('are those of pipelines, components and notifications, the default one first', async () => {
    await given('inputs:\n  - {id: never, type: s3, group: later}\n');
    await call('PATCH', '/notifications/all', { group: 'web' });
    for (const at of ['/master/groups', '/products/stream/groups']) {
      expect(await ids(at)).toEqual(['default', 'later', 'shop', 'web']);
      expect((await call('GET', `${at}/shop`)).body).toMatchObject({
        count: 1,
        items: [{ id: 'shop', headgate: { pipelines: ['own'] } }],
      });
      expect(await call('GET', `${at}/nobody`)).toMatchObject({ status: 200, body: { items: [], count: 0 } });
    }
    await call('PATCH', '/notifications/all', { group: null });
  });

  it('filter what is below /m/{group}', async () => {
    await given('inputs:\n  - {id: never, type: s3}\n');
    expect(await ids('/m/shop/system/inputs')).toEqual(['till', 'a_b']);
    expect(await ids('/m/default/system/inputs')).toEqual(['never']);
    expect(await ids('/m/shop/system/status/inputs')).toEqual(['till', 'a_b']);
    expect((await call('GET', '/m/default/system/inputs/till')).status).toBe(404);
    expect((await call('GET', '/m/shop/system/status/inputs/till')).status).toBe(200);
    expect(await ids('/m/shop/notifications')).toEqual([]);
    expect((await call('GET', '/m/shop/notifications/all')).status).toBe(404);
    expect((await call('PATCH', '/m/shop/notifications/all', { disabled: true })).status).toBe(404);
    expect((await call('DELETE', '/m/shop/notifications/all')).status).toBe(404);
  });

  it('are set by the path, and only by it', async () => {
    const created = await call('POST', '/m/shop/notifications', noData('grouped', 'x:y', '1h', 'board'));
    expect(created.body.items[0].group).toBe('shop');
    const replaced = await call(
      'PATCH',
      '/m/shop/notifications/grouped',
      noData('grouped', 'x:z', '1h', 'board'),
    );
    expect(replaced.body.items[0]).toMatchObject({ group: 'shop', conf: { name: 'x:z' } });
    for (const method of ['POST', 'PATCH']) {
      const at = method === 'POST' ? '/m/shop/notifications' : '/m/shop/notifications/grouped';
      const body = { ...noData('grouped', 'x:y', '1h', 'board'), group: 'default' };
      expect((await call(method, at, body)).body.errors).toMatchObject([{ path: 'group' }]);
    }
    expect((await call('DELETE', '/m/shop/notifications/grouped')).status).toBe(200);
    expect((await call('POST', '/m/shop/system/inputs', { id: 'n', type: 't' })).body.items[0].group).toBe(
      'shop',
    );
  });

  it('that nobody is in are not found, whatever is asked of them', async () => {
    for (const [method, at] of [
      ['GET', '/system/inputs'],
      ['POST', '/notifications'],
      ['PATCH', '/notifications/all'],
      ['DELETE', '/system/outputs/x'],
      ['GET', '/conditions'],
    ] as const)
      expect(await call(method, `/m/nobody${at}`)).toMatchObject({
        status: 404,
        body: { code: 'not-found', message: "group 'nobody' not found" },
      });
    expect((await call('GET', '/m/default/notification-targets')).status).toBe(200);
  });
});
