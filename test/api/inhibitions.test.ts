import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from '../helpers/until.ts';
import { type ApiServer, JSON_BODY, startApiServer } from './api-server.ts';
import { jsonCaller } from './json.ts';

const TOKEN = 'token-of-the-monitors';

let server: ApiServer;
let call: ReturnType<typeof jsonCaller>;

beforeAll(async () => {
  server = await startApiServer({
    settings: { pipelines: [{ id: 'edge', engine: 'custom', push: true, token: TOKEN }] },
    notifications: {
      targets: [{ id: 'log', type: 'notifications_log' }],
      notifications: [{ id: 'monitors', condition: 'monitor-alerts', targets: ['log'] }],
    },
  });
  call = jsonCaller(server);
});

afterAll(() => server.stop());

async function post(key: string, state: 'ALARM' | 'OK', fields: Record<string, string>): Promise<void> {
  const { status } = await server.call('POST', '/ingest/events', {
    headers: [['authorization', `Bearer ${TOKEN}`], JSON_BODY],
    body: JSON.stringify([{ condition: 'monitor-alerts', key, state, fields }]),
  });
  expect(status).toBe(200);
}

async function newest(path: string, subject: string): Promise<Record<string, unknown> | undefined> {
  const { body } = await call('GET', `${path}?limit=100`);
  return body.items.find((one: { subject: string }) => one.subject === subject);
}

const RULE = {
  id: 'host_down',
  when: [{ name: 'level', op: '=', value: 'fatal' }],
  hold: [{ name: 'level', op: '=~', value: 'info|warn' }],
  equal: ['host'],
};

describe('an inhibition', () => {
  it('holds an alarm back from the answer on, says by which incident, and lets it go when it is removed', async () => {
    const made = await call('POST', '/inhibitions', RULE);
    expect(made.body.items).toEqual([RULE]);
    await post('down', 'ALARM', { level: 'fatal', host: 'a' });
    await post('slow', 'ALARM', { level: 'warn', host: 'a' });
    await post('apart', 'ALARM', { level: 'warn', host: 'b' });
    const down = await newest('/incidents', 'down');
    const heldBecause = `inhibited while incident ${down?.id} is open, by inhibition 'host_down'`;
    expect(await newest('/deliveries', 'slow')).toMatchObject({ state: 'grouped', heldBecause });
    expect(await newest('/incidents', 'slow')).toMatchObject({
      heldBy: down?.id,
      recipients: [{ target: 'log', outcome: 'waiting', heldBecause }],
    });
    expect(await newest('/incidents', 'apart')).not.toHaveProperty('heldBy');
    const removed = await call('DELETE', '/inhibitions/host_down');
    expect(removed.body.items).toEqual([RULE]);
    await until(async () => (await newest('/deliveries', 'slow'))?.state === 'sent', 'the alarm is sent');
    expect((await call('GET', '/inhibitions/host_down')).status).toBe(404);
  });

  it('is changed in part, keeps to its tag, stands in the file, and comes back with an older version', async () => {
    await call('POST', '/inhibitions', { ...RULE, id: 'changed' });
    const before = (await call('GET', '/version')).body.items[0].hash;
    const changed = await call('PATCH', '/inhibitions/changed', { equal: ['host', 'rack'] });
    expect(changed.body.items).toEqual([{ ...RULE, id: 'changed', equal: ['host', 'rack'] }]);
    const shown = await call('GET', '/inhibitions');
    expect(shown.body).toMatchObject({ count: 1, items: [{ id: 'changed', equal: ['host', 'rack'] }] });
    const { items } = (await call('GET', '/system/config/files')).body;
    expect(JSON.stringify(items)).toContain('rack');
    await call('POST', '/version/revert', { commit: before });
    expect((await call('GET', '/inhibitions/changed')).body.items).toEqual([{ ...RULE, id: 'changed' }]);
    await call('DELETE', '/inhibitions/changed');
  });

  it.each([
    [{ when: [] }, 'when'],
    [{ when: [{ name: 'level', op: '=~', value: '(a' }] }, 'when[0].value'],
    [{ hold: [{ name: '__level', value: 'a' }] }, 'hold[0].name'],
    [{ equal: ['a b'] }, 'equal[0]'],
    [{ id: 'a b' }, 'id'],
    [{ until: 'resolved' }, 'until'],
  ])('is refused with %j, at its place', async (change, path) => {
    const { status, body } = await call('POST', '/inhibitions', { ...RULE, ...change });
    expect([status, body.errors[0].path]).toEqual([400, expect.stringContaining(path)]);
  });
});
