import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { noData, writeFileText } from '../acceptance/files.ts';
import { type ApiServer, JSON_BODY, startApiServer } from './api-server.ts';
import { jsonCaller } from './json.ts';

const TOKEN = 'token-of-the-engine';

let server: ApiServer;
let call: ReturnType<typeof jsonCaller>;

beforeAll(async () => {
  server = await startApiServer({
    settings: { pipelines: [{ id: 'own', engine: 'custom', push: true, token: TOKEN, group: 'shop' }] },
  });
  call = jsonCaller(server);
  writeFileText(server.config, 'inputs.yml', 'inputs:\n  - {id: "off", type: syslog, disabled: true}\n');
  writeFileText(
    server.config,
    'outputs.yml',
    'outputs:\n  - {id: unused, type: s3, disabled: true}\n  - {id: never, type: http}\n',
  );
  const notifications = {
    targets: [{ id: 'board', type: 'bulletin_message' }],
    notifications: [
      {
        id: 'broken',
        condition: 'unhealthy-dest',
        targets: ['board'],
        conf: { name: '*', timeWindow: '1s' },
      },
      noData('silent', 'syslog:off', '1s', 'board'),
      noData('heard', 'syslog:app', '1s', 'board'),
    ],
  };
  writeFileText(server.config, 'notifications.yml', JSON.stringify(notifications));
  // A write loads what has changed on disk before it is looked at, all files together.
  expect((await call('DELETE', '/notifications/nobody')).status).toBe(404);
  await push('one', { app: [1000, 1], lake: [900, 1], 'a/b': [5, 1], unused: [1, 0] });
  await push('two', { app: [20, 1], lake: [30, 0], 'a/b': [5, 1], unused: [1, 0] });
  await push('three', { 'a/b': [5, 0] });
});

afterAll(() => server.stop());

const KINDS = new Map([
  ['app', { kind: 'input', type: 'syslog' }],
  ['lake', { kind: 'output', type: 's3' }],
  ['unused', { kind: 'output', type: 's3' }],
  ['a/b', { kind: 'output', type: 'http' }],
]);

/** Events and `up` by component, from one instance of the engine. */
async function push(instance: string, told: Record<string, readonly [number, number]>): Promise<void> {
  const samples = Object.entries(told).flatMap(([id, [events, up]]) => {
    const where = { ...KINDS.get(id), id };
    const metric = where.kind === 'input' ? 'in_events' : 'out_events';
    return [
      { ...where, metric, value: events },
      { ...where, metric: 'up', value: up },
    ];
  });
  const answer = await server.call('POST', '/ingest/samples', {
    headers: [['authorization', `Bearer ${TOKEN}`], JSON_BODY],
    body: JSON.stringify({ instance, temporality: 'delta', samples }),
  });
  expect(answer.status).toBe(200);
}

const itemsOf = async (path: string) => (await call('GET', path)).body.items;

describe('the status of components', () => {
  it('counts the instances of the engine by how each is, and says why one is not well', async () => {
    expect(await itemsOf('/system/status/outputs/lake')).toEqual([
      {
        id: 'lake',
        type: 's3',
        status: {
          health: 'Yellow',
          presence: 'present',
          healthCounts: { Green: 1, Yellow: 0, Red: 1, Unknown: 0 },
          timestamp: expect.any(Number),
          metrics: { out_events: 930, up: 0 },
          error: { message: '1 of 2 replicas: it reports that it is down' },
        },
      },
    ]);
    expect((await itemsOf('/system/status/outputs/unused'))[0].status).toMatchObject({
      health: 'Red',
      healthCounts: { Green: 0, Yellow: 0, Red: 2, Unknown: 0 },
      error: { message: '2 of 2 replicas: it reports that it is down' },
    });
    expect((await itemsOf('/system/status/outputs/a_b'))[0].status).toMatchObject({
      health: 'Yellow',
      healthCounts: { Green: 2, Red: 1 },
    });
    const [app] = await itemsOf('/system/status/inputs/app');
    expect(app.status).toMatchObject({
      health: 'Green',
      healthCounts: { Green: 2, Yellow: 0, Red: 0, Unknown: 0 },
      metrics: { in_events: 1020, up: 1 },
    });
    expect(app.status).not.toHaveProperty('error');
    expect(Math.abs(Date.now() - app.status.timestamp)).toBeLessThan(60_000);
  });

  it('is unknown of one that was never seen, in numbers all the same', async () => {
    expect(await itemsOf('/system/status/outputs/never')).toEqual([
      {
        id: 'never',
        type: 'http',
        status: {
          health: 'Unknown',
          presence: 'unknown',
          healthCounts: { Green: 0, Yellow: 0, Red: 0, Unknown: 0 },
          timestamp: 0,
          metrics: {},
        },
      },
    ]);
  });

  it('is that of a group where the path names one, page by page and by type', async () => {
    const ids = async (path: string) => (await itemsOf(path)).map(({ id }: { id: string }) => id);
    expect(await ids('/m/shop/system/status/outputs')).toEqual(['unused', 'lake', 'a_b']);
    expect(await ids('/m/default/system/status/outputs')).toEqual(['never']);
    expect(await ids('/m/shop/system/status/outputs?type=s3')).toEqual(['unused', 'lake']);
    expect(await ids('/m/shop/system/status/inputs')).toEqual(['app']);
    expect((await call('GET', '/m/shop/system/status/outputs?limit=1&offset=1')).body).toMatchObject({
      items: [{ id: 'lake' }],
      count: 1,
      offset: 1,
      limit: 1,
      totalCount: 3,
    });
    expect((await call('GET', '/m/shop/system/status/outputs/lake')).status).toBe(200);
    for (const path of ['/m/default/system/status/outputs/lake', '/system/status/outputs/nobody'])
      expect(await call('GET', path)).toMatchObject({ status: 404, body: { code: 'not-found' } });
    expect((await call('GET', '/m/nobody/system/status/outputs')).status).toBe(404);
  });
});

it('raises nothing of a component that is disabled, whatever is wrong with it', async () => {
  /** Every push says that it is down for as long as since the one before. */
  const subjects = async () => {
    for (const instance of ['one', 'two']) await push(instance, { unused: [0, 0], lake: [0, 0] });
    return names();
  };
  const names = async () =>
    (await itemsOf('/incidents')).map(
      ({ notification, subject }: { notification: string; subject: string }) =>
        [notification, subject].join(' '),
    );
  // Of two that fare alike the enabled one is told of, so the engine has looked at the other as well.
  for (const told of ['heard own/syslog:app', 'broken own/s3:lake'])
    await expect.poll(subjects).toContain(told);
  expect((await subjects()).toSorted()).toEqual(['broken own/s3:lake', 'heard own/syslog:app']);
  await call('PATCH', '/system/outputs/unused', { disabled: false });
  await expect.poll(subjects).toContain('broken own/s3:unused');
});
