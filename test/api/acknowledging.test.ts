import { afterAll, beforeAll, expect, it } from 'vitest';
import { type ApiServer, JSON_BODY, startApiServer } from './api-server.ts';
import { jsonCaller } from './json.ts';

const TOKEN = 'token-of-the-monitors';

let server: ApiServer;
let call: ReturnType<typeof jsonCaller>;

beforeAll(async () => {
  server = await startApiServer({
    settings: { pipelines: [{ id: 'edge', engine: 'custom', push: true, token: TOKEN }] },
    notifications: {
      targets: [
        { id: 'log', type: 'notifications_log' },
        { id: 'lead', type: 'notifications_log' },
      ],
      notifications: [
        {
          id: 'monitors',
          condition: 'monitor-alerts',
          targets: ['log'],
          escalateAfter: '15m',
          escalateTo: ['lead'],
        },
      ],
    },
  });
  call = jsonCaller(server);
});

afterAll(() => server.stop());

async function post(key: string, state: 'ALARM' | 'OK'): Promise<void> {
  const events = [{ condition: 'monitor-alerts', key, state }];
  const { status } = await server.call('POST', '/ingest/events', {
    headers: [['authorization', `Bearer ${TOKEN}`], JSON_BODY],
    body: JSON.stringify(events),
  });
  expect(status).toBe(200);
}

async function incidentOf(subject: string) {
  const { body } = await call('GET', '/incidents?limit=100');
  return body.items.find((one: { subject: string }) => one.subject === subject);
}

it('shows who looks after an incident, until that is taken back, and records both in the audit', async () => {
  await post('disk', 'ALARM');
  const { id, acknowledged: before } = await incidentOf('disk');
  expect(before).toBeUndefined();
  const path = `/incidents/${id}/acknowledge`;
  const { status, body } = await call('POST', path, { note: 'Replaced by noon.' });
  expect(status).toBe(200);
  const acknowledged = { by: 'admin', at: expect.any(String), note: 'Replaced by noon.' };
  expect(body.items).toMatchObject([{ id, state: 'open', acknowledged }]);
  expect(await incidentOf('disk')).toMatchObject({ acknowledged });
  expect((await call('POST', path)).body.items[0].acknowledged).not.toHaveProperty('note');
  expect((await call('DELETE', path)).body.items[0]).not.toHaveProperty('acknowledged');
  expect((await call('DELETE', path)).status).toBe(200);
  const { body: audit } = await call('GET', '/audit?limit=100');
  const actions = audit.items
    .filter(({ target }: { target: string }) => target === id)
    .map(({ action }: { action: string }) => action);
  expect(actions).toContain('incidents.acknowledge');
  expect(actions).toContain('incidents.unacknowledge');
});

it('refuses what there is not, what is closed, and a note that is too long', async () => {
  await post('cpu', 'ALARM');
  const path = `/incidents/${(await incidentOf('cpu')).id}/acknowledge`;
  expect((await call('POST', path, { note: 'a'.repeat(1025) })).status).toBe(400);
  expect((await call('POST', path, { notes: '' })).status).toBe(400);
  await post('cpu', 'OK');
  const { status, body } = await call('POST', path);
  expect([status, body.message]).toEqual([409, expect.stringContaining('is closed')]);
  expect((await call('DELETE', path)).status).toBe(200);
  for (const method of ['POST', 'DELETE'] as const)
    expect((await call(method, '/incidents/none/acknowledge')).status).toBe(404);
});

it('does not let a target go that incidents escalate to', async () => {
  const { status, body } = await call('DELETE', '/notification-targets/lead');
  expect([status, body.message]).toEqual([409, expect.stringContaining("notification 'monitors'")]);
});
