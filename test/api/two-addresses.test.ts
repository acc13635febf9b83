import { afterEach, beforeEach, expect, test } from 'vitest';
import { contractServer } from '../helpers/contract-server.ts';
import { until } from '../helpers/until.ts';
import { type ApiServer, JSON_BODY, startApiServer } from './api-server.ts';
import { jsonCaller } from './json.ts';

const INGEST_TOKEN = 'token-of-the-custom-pipeline';
const QUEUES = ['a/b', '..', 'c'];
const SECRET_PATH = 'k3y0fth1sw3bh00k4711';

let alerts: Awaited<ReturnType<typeof contractServer>>;
let server: ApiServer;
let call: ReturnType<typeof jsonCaller>;

/** Alerts are opened at one address and closed at another, which knows them by their alias. Each queue has an address. */
beforeEach(async () => {
  const open = new Set<string>();
  alerts = await contractServer(({ method, path = '', body }) => {
    const closing = /^\/v2\/alerts\/([^/]+)\/close\?identifierType=alias$/.exec(path);
    const sent = body === '' ? {} : JSON.parse(body);
    if (method === 'POST' && path === '/v2/alerts' && typeof sent.alias === 'string') {
      open.add(sent.alias);
      return { status: 202, body: '{"result":"Request will be processed"}' };
    }
    if (method === 'PUT' && closing !== null && open.delete(decodeURIComponent(closing[1] ?? '')))
      return { status: 202, body: `{"note":"${sent.note}"}` };
    if (method === 'POST' && /^\/queues\/[^/?]+\?of=/.test(path)) return { status: 200, body: '' };
    return { status: 422, body: '{"message":"no such alert"}' };
  });
  server = await startApiServer({
    settings: {
      pipelines: [{ id: 'own', engine: 'custom', push: true, token: INGEST_TOKEN }],
      delivery: { privateAddresses: 'allow' },
    },
    notifications: {
      targets: [
        {
          id: 'on_call',
          type: 'webhook',
          url: `${alerts.url}/v2/alerts`,
          resolveUrl: `${alerts.url}/v2/alerts/\${incidentId}/close?identifierType=alias`,
          resolveMethod: 'PUT',
          format: 'custom',
          customContentType: 'application/json',
          maxPayloadEvents: 1,
          srcExpression: '{ alias: incidentId, message: _raw }',
          resolveExpression: "{ note: 'over: ' + key }",
        },
        { id: 'queue', type: 'webhook', url: `${alerts.url}/queues/\${queue}?of=\${team}`, concurrency: 1 },
      ],
      notifications: [
        { id: 'paged', condition: 'search', targets: ['on_call'], conf: { savedQueryId: 'p', message: 'm' } },
        ...QUEUES.map((_, at) => ({
          id: `queued_${at}`,
          condition: 'search',
          targets: ['queue'],
          conf: { savedQueryId: `q${at}`, message: 'm' },
        })),
      ],
    },
  });
  call = jsonCaller(server);
});

afterEach(async () => {
  await server.stop();
  await alerts.stop();
});

async function post(...events: readonly object[]): Promise<void> {
  const sent = await server.call('POST', '/ingest/events', {
    headers: [['authorization', `Bearer ${INGEST_TOKEN}`], JSON_BODY],
    body: JSON.stringify(events),
  });
  expect(sent).toMatchObject({ status: 200 });
}

const states = async (): Promise<string[]> =>
  (await call('GET', '/deliveries')).body.items.map(({ state }: { state: string }) => state);

test('an alarm is opened at one address and closed at another, by another method and with another body', async () => {
  await post({ condition: 'search', key: 'p', state: 'ALARM' });
  await until(async () => alerts.received.length === 1);
  await post({ condition: 'search', key: 'p', state: 'OK' });
  await until(async () => (await states()).filter(state => state === 'sent').length === 2);
  const alias = JSON.parse(alerts.received[0]?.body ?? '').alias;
  expect(alerts.received.map(({ method, path }) => `${method} ${path}`)).toEqual([
    'POST /v2/alerts',
    `PUT /v2/alerts/${alias}/close?identifierType=alias`,
  ]);
  expect(alerts.received[1]?.body).toBe('{"note":"over: p"}');
});

test('a test send opens an alarm there and closes it, so that none stays open', async () => {
  const { body } = await call('POST', '/notification-targets/on_call/test', {});
  expect(body.items[0]).toMatchObject({ success: true, response: { status: 202 } });
  expect(alerts.received.map(({ method }) => method)).toEqual(['POST', 'PUT']);
});

test('what travels to different addresses travels apart, and all of it arrives', async () => {
  await post(
    ...QUEUES.map((queue, at) => ({
      condition: 'search',
      key: `q${at}`,
      state: 'ALARM',
      fields: { queue, team: 'x y' },
    })),
  );
  await until(async () => (await states()).filter(state => state === 'sent').length === QUEUES.length);
  const paths = alerts.received.map(({ path }) => path).toSorted();
  expect(paths).toEqual(['/queues/_?of=x%20y', '/queues/a%2Fb?of=x%20y', '/queues/c?of=x%20y']);
  for (const { body } of alerts.received) expect(body.trim().split('\n')).toHaveLength(1);
});

test('an address that is a secret is looked up first, and the places of what is stored are filled', async () => {
  const store = async (value: string) => {
    const put = await call('PUT', '/system/secrets/queue_url', { value });
    expect([200, 201, 204]).toContain(put.status);
  };
  await store(`${alerts.url}/queues/\${queue}?of=\${team}&key=${SECRET_PATH}`);
  const changed = await call('PATCH', '/notification-targets/queue', { url: '${secret:queue_url}' });
  expect(changed.status).toBe(200);
  await post({
    condition: 'search',
    key: 'q0',
    state: 'ALARM',
    fields: { queue: '${secret:x}/y', team: 'z' },
  });
  await until(async () => (await states()).includes('sent'));
  expect(alerts.received.map(({ path }) => path)).toEqual([
    `/queues/%24%7Bsecret%3Ax%7D%2Fy?of=z&key=${SECRET_PATH}`,
  ]);
  expect(JSON.stringify((await call('GET', '/deliveries')).body)).not.toContain(SECRET_PATH);

  await store('https://${key}.example/x');
  await post({ condition: 'search', key: 'q1', state: 'ALARM', fields: { queue: 'c', team: 'z' } });
  await until(async () => (await states()).filter(state => state !== 'waiting').length === 2);
  // A place in the host is refused: the address before stays.
  expect(alerts.received.slice(1).map(({ path }) => path)).toEqual([`/queues/c?of=z&key=${SECRET_PATH}`]);
});

test('a place in the host is refused over the API, and named', async () => {
  for (const key of ['url', 'resolveUrl']) {
    const refused = await call('PATCH', '/notification-targets/on_call', {
      [key]: 'https://${key}.example/x',
    });
    expect(refused.status).toBe(400);
    expect(refused.body.errors).toMatchObject([
      { path: key, message: expect.stringContaining('place 1 stands in the host') },
    ]);
  }
});

test('a changed resolveUrl needs the secrets anew, as a changed url does, and is shown to readers without its path', async () => {
  const target = {
    id: 'kept',
    type: 'webhook',
    url: 'https://hooks.example/in',
    resolveUrl: `https://hooks.example/out/${SECRET_PATH}/\${incidentId}`,
    authType: 'token',
    token: 'token-of-the-receiver',
  };
  expect((await call('POST', '/notification-targets', target)).status).toBe(200);
  const moved = await call('PATCH', '/notification-targets/kept', {
    resolveUrl: 'https://evil.example/${key}',
  });
  expect([moved.status, moved.body.message]).toEqual([
    422,
    expect.stringContaining("as 'resolveUrl' changes"),
  ]);
  expect((await call('PATCH', '/notification-targets/kept', { resolveUrl: null })).status).toBe(422);
  expect((await call('PATCH', '/notification-targets/kept', { description: 'x' })).status).toBe(200);
});
