import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createClient } from '../../client/src/index.ts';
import { until } from '../helpers/until.ts';
import { type ApiServer, JSON_BODY, startApiServer } from './api-server.ts';

const OWN = 'token-of-the-custom-pipeline';
const SYSLOG = 'token-of-the-syslog-pipeline';

let server: ApiServer;

beforeAll(async () => {
  server = await startApiServer({
    settings: {
      pipelines: [
        { id: 'own', engine: 'custom', push: true, token: OWN },
        { id: 'syslog', engine: 'rsyslog', push: true, token: SYSLOG },
      ],
    },
    notifications: {
      targets: [{ id: 'log', type: 'notifications_log' }],
      notifications: [
        {
          id: 'failed_logins',
          condition: 'search',
          targets: ['log'],
          conf: { savedQueryId: 'logins', message: '${count} failed logins' },
        },
      ],
    },
  });
});

afterAll(() => server.stop());

const post = (body: unknown, token = OWN) => postText(JSON.stringify(body), token);

async function postText(body: string, token = OWN) {
  const answer = await server.call('POST', '/ingest/events', {
    headers: [['authorization', `Bearer ${token}`], JSON_BODY],
    body,
  });
  return { http: answer.status, ...JSON.parse(answer.text) };
}

async function items(path: string) {
  return JSON.parse((await server.call('GET', `/api/v1${path}`)).text).items;
}

const openSubjects = async (): Promise<string[]> =>
  (await items('/incidents?state=open')).map(({ subject }: { subject: string }) => subject);

const alarm = (key: string, more: object = {}) => ({ condition: 'search', key, state: 'ALARM', ...more });

it('answers how many it took when the incident, the message and the delivery are there', async () => {
  const event = alarm('logins/web1', { fields: { count: 3 }, id: 'run-1' });
  expect(await post(event)).toEqual({ http: 200, accepted: 1 });
  expect(await items('/incidents?state=open')).toMatchObject([
    { notification: 'failed_logins', subject: 'logins/web1', text: 'Search logins/web1: 3 failed logins' },
  ]);
  expect(await items('/system/messages')).toMatchObject([{ id: 'failed_logins' }]);
  await until(async () => (await items('/deliveries?state=sent')).length === 1, 'the delivery');
  expect(await post([event, { ...event, state: 'OK', id: 'run-2' }])).toEqual({ http: 200, accepted: 2 });
  expect(await items('/incidents?state=open')).toEqual([]);
});

it('takes events with the token of any pipeline that pushes, and with no other', async () => {
  expect(await post([alarm('logins/web2'), alarm('logins/web3')], SYSLOG)).toMatchObject({ accepted: 2 });
  expect(await post(alarm('logins/web4'), 'nobody-knows-this')).toMatchObject({
    http: 401,
    code: 'unauthenticated',
  });
});

it('takes what no notification waits for, and nothing at all', async () => {
  expect(await post({ condition: 'monitor-alerts', key: 'cpu', state: 'ALARM' })).toMatchObject({
    accepted: 1,
  });
  expect(await post([])).toEqual({ http: 200, accepted: 0 });
});

describe('a wrong body', () => {
  it.each([
    [
      'another source',
      { condition: 'no-data' },
      '[1].condition',
      /license-expiration, search, monitor-alerts/,
    ],
    [
      'an unknown condition',
      { condition: 'serch' },
      '[1].condition',
      /must be a condition that takes posted/,
    ],
    ['no key', { key: undefined }, '[1].key', /^is required$/],
    ['an empty key', { key: '' }, '[1].key', /1 to 512/],
    ['a key with a line end', { key: 'a\nb' }, '[1].key', /can be printed/],
    ['another state', { state: 'FIRING' }, '[1].state', /"ALARM"\|"OK"/],
    ['an unknown key', { labels: {} }, '[1]', /labels/],
    ['an internal field', { fields: { __pipeline: 'x' } }, '[1].fields.__pipeline', /steers the delivery/],
    ['a number that is no text', { fields: { __phoneNumber: 1 } }, '[1].fields.__phoneNumber', /a text/],
    ["the event's own", { fields: { incidentId: 'x' } }, '[1].fields.incidentId', /of its own/],
    ['a system field', { fields: { cribl_host: 'x' } }, '[1].fields.cribl_host', /of its own/],
    ["the condition's own", { fields: { savedQueryId: 'x' } }, '[1].fields.savedQueryId', /of its own/],
    ['a name that is none', { fields: { 'a b': 1 } }, '[1].fields["a b"]', /letters, digits/],
    ['too long fields', { fields: { text: 'x'.repeat(70_000) } }, '[1].fields', /65536 characters/],
    ['an empty id', { id: '' }, '[1].id', /1/],
  ])('with %s is refused with its place, and nothing of it is taken', async (_, change, path, message) => {
    const before = await openSubjects();
    const answer = await post([alarm('logins/none'), { ...alarm('logins/wrong'), ...change }]);
    expect(answer).toMatchObject({ http: 400, code: 'invalid-request', errors: [{ path }] });
    expect(answer.errors[0].message).toMatch(message);
    expect(await openSubjects()).toEqual(before);
  });

  it('of more than a thousand events is refused', async () => {
    const answer = await post(Array.from({ length: 1001 }, (_, index) => alarm(`logins/${index}`)));
    expect(answer).toMatchObject({ http: 400, errors: [{ message: 'must be at most 1000 events' }] });
  });

  it('with a thousand mistakes is answered with the first twenty and how many more there are', async () => {
    const answer = await post(Array.from({ length: 1000 }, () => ({})));
    expect(answer.errors).toHaveLength(21);
    expect(answer.errors.at(-1)).toEqual({ path: '', message: 'and 2980 more' });
  });

  it.each([['"text"'], ['7'], ['null'], ['']])('%s is refused', async body => {
    const answer = await server.call('POST', '/ingest/events', {
      headers: [['authorization', `Bearer ${OWN}`], JSON_BODY],
      body,
    });
    expect(answer.status).toBe(400);
  });
});

it('is taken by the client as one event or as some', async () => {
  const { ingest } = createClient({ baseUrl: server.url, ingestToken: OWN });
  const event = { condition: 'search', key: 'logins/client', state: 'ALARM' } as const;
  await expect(ingest.events({ body: event })).resolves.toEqual({ accepted: 1 });
  await expect(ingest.events({ body: [event] })).resolves.toEqual({ accepted: 1 });
});

it('is listed among the conditions with its kind', async () => {
  expect(await items('/conditions')).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ id: 'license-expiration', type: 'message', category: 'license' }),
      expect.objectContaining({ id: 'search', type: 'search', category: 'search' }),
      expect.objectContaining({ id: 'monitor-alerts', type: 'monitor-alerts', category: 'alerts' }),
    ]),
  );
});

it('keeps the digits of numbers that no number holds: in what is sent and in what is shown', async () => {
  const fields = '{"account":12345678901234567890,"ratio":1e999,"deep":[{"id":-9007199254740993}],"count":7}';
  const body = `{"condition":"search","key":"logins/big","state":"ALARM","fields":${fields}}`;
  expect(await postText(body)).toEqual({ http: 200, accepted: 1 });
  const [incident] = await items('/incidents?state=open');
  const [{ id }] = await items('/deliveries');
  const [delivery] = await items(`/deliveries/${id}`);
  expect(incident).toMatchObject({ subject: 'logins/big', text: 'Search logins/big: 7 failed logins' });
  expect(delivery.event).toMatchObject({
    account: '12345678901234567890',
    ratio: '1e999',
    deep: [{ id: '-9007199254740993' }],
    count: 7,
  });
  await post(alarm('logins/big', { state: 'OK' }));
});
