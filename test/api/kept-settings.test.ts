import { afterEach, beforeEach, expect, test } from 'vitest';
import { pagerDutyServer } from '../helpers/pager-duty.ts';
import { until } from '../helpers/until.ts';
import { type ApiServer, JSON_BODY, startApiServer } from './api-server.ts';
import { jsonCaller } from './json.ts';

const INGEST_TOKEN = 'token-of-the-custom-pipeline';
const KEYS = ['a', 'b'].map(letter => letter.repeat(32));

let services: Awaited<ReturnType<typeof pagerDutyServer>>[];
let server: ApiServer;
let call: ReturnType<typeof jsonCaller>;

/** Two services of PagerDuty; an alarm is opened at the first, and then the target gets the address and key of the second. */
beforeEach(async () => {
  services = [await pagerDutyServer(() => undefined), await pagerDutyServer(() => undefined)];
  server = await startApiServer({
    settings: {
      pipelines: [{ id: 'own', engine: 'custom', push: true, token: INGEST_TOKEN }],
      delivery: { privateAddresses: 'allow' },
    },
    notifications: {
      targets: [
        { id: 'pager', type: 'pager_duty', severity: 'error', url: services[0]?.url, routingKey: KEYS[0] },
      ],
      notifications: [
        { id: 'paged', condition: 'search', targets: ['pager'], conf: { savedQueryId: 'p', message: 'm' } },
      ],
    },
  });
  call = jsonCaller(server);
  await post('ALARM');
  await until(() => openAt(0) === 1, 'the open alert');
  const body = { url: services[1]?.url, routingKey: KEYS[1] };
  expect((await call('PATCH', '/notification-targets/pager', body)).status).toBe(200);
});

afterEach(async () => {
  await server.stop();
  for (const service of services) await service.stop();
});

const openAt = (index: number): number | undefined => services[index]?.open.size;

async function post(state: 'ALARM' | 'OK'): Promise<void> {
  const sent = await server.call('POST', '/ingest/events', {
    headers: [['authorization', `Bearer ${INGEST_TOKEN}`], JSON_BODY],
    body: JSON.stringify([{ condition: 'search', key: 'p', state }]),
  });
  expect(sent).toMatchObject({ status: 200 });
}

const kept = async () => (await call('GET', '/kept-settings')).body.items;

test('an alert is closed where it was opened, though the target has another key and address since', async () => {
  await until(async () => (await kept()).length === 1, 'kept settings');
  const [first] = await kept();
  expect(first).toMatchObject({ target: 'pager', type: 'pager_duty', reason: 'changed', incidents: 1 });
  expect(JSON.stringify(first)).not.toContain(KEYS[0]);
  await post('OK');
  await until(() => openAt(0) === 0, 'the closed alert');
  expect(services[1]?.received).toEqual([]);
});

test('settings with a secret that has leaked are removed by hand, and the end goes by the present ones', async () => {
  await until(async () => (await kept()).length === 1, 'kept settings');
  const [{ id }] = await kept();
  expect((await call('DELETE', `/kept-settings/${encodeURIComponent(id)}`)).body.items).toMatchObject([
    { id },
  ]);
  expect(await kept()).toEqual([]);
  expect((await call('DELETE', `/kept-settings/${encodeURIComponent(id)}`)).status).toBe(404);
  await post('OK');
  await until(() => services[1]?.received.length === 1, 'the end');
  expect(openAt(0)).toBe(1);
});
