import { afterAll, beforeAll, expect, it } from 'vitest';
import { contractServer } from '../helpers/contract-server.ts';
import { pagerDutyServer } from '../helpers/pager-duty.ts';
import { slackServer } from '../helpers/slack.ts';
import { until } from '../helpers/until.ts';
import { type ApiServer, JSON_BODY, startApiServer } from './api-server.ts';
import { jsonCaller } from './json.ts';

const TOKEN = 'token-of-the-pipeline';
const ROUTING_KEY = 'c0ffee00c0ffee00c0ffee00c0ffee00';

let server: ApiServer;
let call: ReturnType<typeof jsonCaller>;
let slack: Awaited<ReturnType<typeof slackServer>>;
let pager: Awaited<ReturnType<typeof pagerDutyServer>>;
let hook: Awaited<ReturnType<typeof contractServer>>;
/** How often Slack still says that it is too much. */
let limited = 0;

beforeAll(async () => {
  slack = await slackServer(() => {
    if (limited === 0) return { status: 200, body: 'ok' };
    limited -= 1;
    const body = '{"ok":false,"error":"rate_limited","retry_after":2}';
    return { status: 429, headers: { 'retry-after': '2' }, body };
  });
  pager = await pagerDutyServer();
  hook = await contractServer(() => ({ status: 200, body: '' }));
  server = await startApiServer({
    settings: { pipelines: [{ id: 'own', engine: 'custom', push: true, token: TOKEN }] },
    notifications: {
      targets: [
        { id: 'chat', type: 'slack', slackUrl: `${slack.url}/services/T0/B0/key-of-the-webhook` },
        { id: 'pager', type: 'pager_duty', routingKey: ROUTING_KEY, severity: 'error', url: pager.url },
        { id: 'hook', type: 'webhook', url: hook.url },
        { id: 'bell', type: 'bulletin_message', title: 'Logins', message: 'Look: ${_raw}' },
        { id: 'by_bell', type: 'router', routes: [{ filter: "condition == 'search'", output: 'bell' }] },
        {
          id: 'by_team',
          type: 'router',
          routes: [
            { filter: "owner == 'team shop'", output: 'chat', final: false },
            { filter: "team == 'shop'", output: 'pager' },
            { filter: 'true', output: 'hook' },
          ],
        },
      ],
      notifications: [
        {
          id: 'alerts',
          condition: 'monitor-alerts',
          targets: ['by_team'],
          conf: {},
          metadata: [
            { name: '__severity', value: "team == 'shop' ? 'fatal' : 'info'" },
            { name: 'owner', value: '`team ${team}`' },
          ],
        },
        {
          id: 'found',
          condition: 'search',
          targets: ['chat', 'by_bell'],
          conf: { savedQueryId: 'logins', message: 'in ${place}' },
        },
      ],
    },
  });
  call = jsonCaller(server);
});

afterAll(async () => {
  await server.stop();
  for (const one of [slack, pager, hook]) await one.stop();
});

async function post(key: string, state: 'ALARM' | 'OK', team: string): Promise<void> {
  await take({ condition: 'monitor-alerts', key, state, fields: { team } });
}

async function take(event: object): Promise<void> {
  const answer = await server.call('POST', '/ingest/events', {
    headers: [['authorization', `Bearer ${TOKEN}`], JSON_BODY],
    body: JSON.stringify(event),
  });
  expect(answer.status).toBe(200);
}

const ofPager = (): readonly unknown[] =>
  pager.received.map(({ body }) => JSON.parse(body)).map(({ event_action: action }) => action);
const deliveries = async () => (await call('GET', '/deliveries')).body.items;

it('sends an event where its rules lead, and the router itself gets no delivery', async () => {
  await post('cpu', 'ALARM', 'shop');
  await until(() => slack.received.length === 1 && pager.received.length === 1, 'both targets');
  expect(ofPager()).toEqual(['trigger']);
  const { payload } = JSON.parse(pager.received[0]?.body ?? '{}');
  expect(payload).toMatchObject({ severity: 'critical', custom_details: { owner: 'team shop' } });
  await post('disk', 'ALARM', 'stock');
  await until(() => hook.received.length === 1, 'the last route');
  expect((await deliveries()).map(({ target }: { target: string }) => target).toSorted()).toEqual([
    'chat',
    'hook',
    'pager',
  ]);
});

it('sends the end to whoever got the beginning, whatever the rules say by then', async () => {
  const routes = [{ filter: 'true', output: 'hook' }];
  expect((await call('PATCH', '/notification-targets/by_team', { routes })).status).toBe(200);
  await post('cpu', 'OK', 'shop');
  await until(() => slack.received.length === 2 && pager.received.length === 2, 'both targets');
  expect(ofPager()).toEqual(['trigger', 'resolve']);
  expect(pager.open.size).toBe(0);
  expect(slack.received[1]?.body).toContain('🟢');
  expect(hook.received).toHaveLength(1);
});

it('posts what comes at once to Slack in few messages, at its pace', async () => {
  const places = Array.from({ length: 12 }, (_, index) => `place-${index}.`);
  const before = slack.received.length;
  const events = places.map(place => ({
    condition: 'search',
    key: `logins/${place}`,
    state: 'ALARM',
    fields: { place },
  }));
  for (const event of events) await take(event);
  const posted = () => slack.received.slice(before).map(({ body }) => body);
  await until(
    () => places.every(place => posted().some(body => body.includes(`in ${place}`))),
    'every alarm in the channel',
  );
  expect(posted().length).toBeLessThan(6);
});

it('shows on the bulletin what a target behind a router makes of it, with its system fields', async () => {
  await take({ condition: 'search', key: 'logins/bell', state: 'ALARM', fields: { place: 'the hall' } });
  const { items } = (await call('GET', '/system/messages')).body;
  expect(items.find(({ id }: { id: string }) => id === 'found')).toMatchObject({
    title: 'Logins',
    text: expect.stringMatching(
      /^Look: Search logins\/bell: in the hall \(\d+ more open: logins.*\)\ncribl_host: headgate/,
    ),
  });
});

it('loses nothing to a limit: the alarm comes when Slack takes it, and then its end', async () => {
  const before = slack.received.length;
  limited = 1;
  const event = { condition: 'search', key: 'logins/limited', fields: { place: 'the limit' } };
  await take({ ...event, state: 'ALARM' });
  await until(() => slack.received.length > before, 'the refused alarm');
  await take({ ...event, state: 'OK' });
  const posted = () => slack.received.slice(before + 1).map(({ body }) => body);
  const isEnd = (body: string): boolean => body.includes('🟢 Search logins/limited');
  await until(() => posted().some(isEnd), 'the end');
  const alarmed = posted().findIndex(body => body.includes('in the limit'));
  expect(alarmed).toBeGreaterThanOrEqual(0);
  expect(posted().findIndex(isEnd)).toBeGreaterThan(alarmed);
});
