import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type ContractAnswer, contractServer } from '../helpers/contract-server.ts';
import { mailServer } from '../helpers/mail-server.ts';
import { pagerDutyServer } from '../helpers/pager-duty.ts';
import { slackServer } from '../helpers/slack.ts';
import { snsService } from '../helpers/sns.ts';
import { type ApiServer, startApiServer } from './api-server.ts';
import { type JsonAnswer, jsonCaller } from './json.ts';

const MASK = '********';
const SLACK_KEY = 'T0000/B0000/key-of-the-slack-webhook';
const ROUTING_KEY = 'c0ffee00c0ffee00c0ffee00c0ffee00';
const TOKEN = 'tok-of-the-hook-4711';
const HEADER = 'value-of-an-own-header';

let server: ApiServer;
let slack: Awaited<ReturnType<typeof slackServer>>;
let pager: Awaited<ReturnType<typeof pagerDutyServer>>;
let hook: Awaited<ReturnType<typeof contractServer>>;
let elsewhere: Awaited<ReturnType<typeof contractServer>>;
let call: ReturnType<typeof jsonCaller>;
let hookAnswer: ContractAnswer = { status: 200, body: '' };

beforeEach(async () => {
  hookAnswer = { status: 200, body: `thank you for ${TOKEN}` };
  slack = await slackServer();
  pager = await pagerDutyServer();
  const topics = await snsService();
  hook = await contractServer(() => hookAnswer);
  elsewhere = await contractServer(() => ({ status: 200, body: '' }));
  server = await startApiServer({
    settings: { instance: { name: 'hg-1' } },
    notifications: {
      targets: [
        { id: 'chat', type: 'slack', slackUrl: `${slack.url}/services/${SLACK_KEY}` },
        { id: 'pager', type: 'pager_duty', routingKey: ROUTING_KEY, severity: 'info', url: pager.url },
        {
          id: 'hook',
          type: 'webhook',
          url: `${hook.url}/in`,
          authType: 'token',
          token: TOKEN,
          compress: true,
          extraHttpHeaders: [{ name: 'X-Own', value: HEADER }],
        },
        { id: 'log', type: 'notifications_log' },
        { id: 'log_off', type: 'notifications_log', logNotifications: false },
        {
          ...{ id: 'topic', type: 'sns', region: 'eu-west-1', destinationType: 'topic', messageGroupId: '' },
          ...{ topicArn: 'arn:aws:sns:eu-west-1:1:alerts', allowList: ['*@shop.example'] },
          ...{ awsAuthenticationMethod: 'manual', awsApiKey: 'AKIDEXAMPLE0000001' },
          ...{ awsSecretKey: 'the-secret-key', endpoint: topics.url },
        },
        {
          id: 'by_rule',
          type: 'router',
          routes: [
            { filter: "condition == 'test'", output: 'hook', final: false },
            { filter: 'true', output: 'log' },
          ],
        },
        { id: 'nowhere', type: 'router', routes: [{ filter: "severity == 'fatal'", output: 'hook' }] },
        { id: 'default', type: 'default', defaultId: 'log' },
      ],
    },
  });
  call = jsonCaller(server);
});

afterEach(async () => {
  await server.stop();
  for (const one of [slack, pager, hook, elsewhere]) await one.stop();
});

const send = (id: string, body: object = {}): Promise<JsonAnswer> =>
  call('POST', `/notification-targets/${id}/test`, body);

function withoutSecrets({ text }: JsonAnswer): void {
  for (const secret of [SLACK_KEY, 'key-of-the-slack-webhook', ROUTING_KEY, TOKEN, HEADER])
    expect(text).not.toContain(secret);
}

test('a test arrives as deliveries do, and the answer shows request and response without secrets', async () => {
  const answer = await send('hook');
  expect(answer.status).toBe(200);
  expect(answer.body).toEqual({
    count: 1,
    items: [
      {
        target: 'hook',
        success: true,
        verdict: 'sent',
        request: {
          method: 'POST',
          url: `${hook.url}/in`,
          headers: {
            'content-type': 'application/x-ndjson',
            'content-encoding': 'gzip',
            'user-agent': expect.stringMatching(/^headgate\//),
            'webhook-id': expect.any(String),
            authorization: MASK,
            'x-own': MASK,
          },
          body: expect.stringContaining('"_raw":"Test of target hook, asked for by admin"'),
        },
        response: { status: 200, headers: {}, body: `thank you for ${MASK}` },
      },
    ],
  });
  withoutSecrets(answer);
  expect(hook.received[0]?.headers.authorization).toBe(`Bearer ${TOKEN}`);
  expect(answer.body.items[0].request.body).toContain('"cribl_host":"hg-1"');
});

test('slack and PagerDuty are tested with messages that they take, and nothing stays open', async () => {
  const chat = await send('chat');
  expect(chat.body.items[0]).toMatchObject({
    success: true,
    request: { url: `${slack.url}/${MASK}`, body: expect.stringContaining('Test of target chat') },
    response: { status: 200, body: 'ok' },
  });
  const page = await send('pager');
  expect(page.body.items[0]).toMatchObject({ success: true, response: { status: 202 } });
  expect(JSON.parse(page.body.items[0].request.body)).toMatchObject({
    event_action: 'trigger',
    routing_key: MASK,
  });
  expect(pager.received).toHaveLength(2);
  expect(pager.open.size).toBe(0);
  withoutSecrets(chat);
  withoutSecrets(page);
});

test('what goes over no network shows the event, and is done', async () => {
  const { body } = await send('log');
  expect(body.items[0]).toMatchObject({
    success: true,
    request: { event: { condition: 'test', target: 'log' } },
    response: null,
  });
  expect(readFileSync(join(server.data, 'log/notifications.log'), 'utf8')).toContain('Test of target log');
});

test('a log that is off says so', async () => {
  const { body } = await send('log_off');
  expect(body.items[0]).toMatchObject({ success: false, verdict: 'refused', reason: 'logging off' });
});

test('a topic takes the test, and the answer warns that allowList does not bind its subscribers', async () => {
  const { body } = await send('topic');
  expect(body.items[0]).toMatchObject({
    success: true,
    verdict: 'sent',
    reason: expect.stringMatching(/^allowList .* SNS sends to every subscription/),
    response: { status: 200 },
  });
});

test('a failure is told with its verdict, its reason and the answer', async () => {
  hookAnswer = { status: 401, body: `{"wrong":"${TOKEN}"}` };
  const refused = await send('hook');
  expect(refused.status).toBe(200);
  expect(refused.body.items[0]).toMatchObject({
    success: false,
    verdict: 'refused',
    reason: 'the receiver answered 401 Unauthorized; check the authentication settings',
    response: { status: 401, body: `{"wrong":"${MASK}"}` },
  });
  withoutSecrets(refused);
  await hook.stop();
  const { body } = await send('hook');
  expect(body.items[0]).toMatchObject({ success: false, verdict: 'retry', response: null });
});

test('a mail server that refuses the password fails the test, in its own words', async () => {
  const account = { user: 'headgate', password: 'right' };
  const { port } = await mailServer({ account });
  const target = {
    ...{ type: 'smtp', host: '127.0.0.1', port, from: 'headgate@shop.example', encryptionOption: 'NONE' },
    ...{ smtpUsername: account.user, smtpPassword: 'a wrong password' },
  };
  const testEmails = ['ops@shop.example'];
  const wrong = await send('new_mail', { target, testEmails });
  expect(wrong.body.items[0]).toMatchObject({
    success: false,
    verdict: 'refused',
    reason: expect.stringMatching(/535 5\.7\.8 authentication failed.*smtpPassword/),
  });
  expect(wrong.text).not.toContain('a wrong password');
  const right = await send('new_mail', { target: { ...target, smtpPassword: account.password }, testEmails });
  expect(right.body.items[0]).toMatchObject({ success: true, verdict: 'sent' });
});

test('a redirect is a failure that says where it would have led, and only the host of it', async () => {
  hookAnswer = { status: 302, body: '', headers: { location: `${elsewhere.url}/login?next=secret` } };
  const { body, text } = await send('hook');
  expect(body.items[0]).toMatchObject({
    success: false,
    verdict: 'refused',
    reason: expect.stringContaining(`Location host ${new URL(elsewhere.url).host}`),
  });
  expect(text).not.toContain('next=secret');
  expect(elsewhere.received).toEqual([]);
});

test('a router is tested at every target its routes lead to, and one that leads nowhere fails', async () => {
  const { body } = await send('by_rule');
  expect(body.items[0]).toMatchObject({ target: 'by_rule', success: true, verdict: 'sent', response: null });
  expect(body.items[0].outputs).toMatchObject([
    { target: 'hook', success: true, response: { status: 200 } },
    { target: 'log', success: true },
  ]);
  hookAnswer = { status: 503, body: '' };
  expect((await send('by_rule')).body.items[0]).toMatchObject({ success: false, verdict: 'retry' });
  expect((await send('nowhere')).body.items[0]).toMatchObject({
    success: false,
    reason: 'no route is taken by a test',
    outputs: [],
  });
  expect((await send('default')).body.items[0].outputs).toMatchObject([{ target: 'log', success: true }]);
});

test('settings of the body are tested in place of those in force and not kept', async () => {
  const { body } = await send('hook', { target: { format: 'json_array' } });
  expect(body.items[0]).toMatchObject({
    success: true,
    request: { headers: { 'content-type': 'application/json' } },
  });
  expect((await call('GET', '/notification-targets/hook')).body.items[0].format).toBe('ndjson');
  const { type, url } = { type: 'webhook', url: `${elsewhere.url}/new` };
  const made = await send('brand_new', {
    target: { type, url, authType: 'token', token: 'entered-just-now' },
  });
  expect(made.body.items[0]).toMatchObject({ target: 'brand_new', success: true });
  expect(made.text).not.toContain('entered-just-now');
  expect(elsewhere.received[0]?.headers.authorization).toBe('Bearer entered-just-now');
  expect((await call('GET', '/notification-targets/brand_new')).status).toBe(404);
  expect((await call('GET', '/system/secrets')).text).not.toContain('brand_new');
});

test('no secret is tested out to where it was not entered for', async () => {
  const moved = await send('hook', { target: { url: `${elsewhere.url}/in` } });
  expect(moved.status).toBe(422);
  expect(moved.body.message).toContain('must be sent anew');
  const read = await send('brand_new', {
    target: { type: 'webhook', url: `${elsewhere.url}/in`, authType: 'token', token: '${env:HOME}' },
  });
  expect(read.status).toBe(400);
  expect(elsewhere.received).toHaveLength(0);
});

test.each([
  ['nobody', {}, 404],
  ['hook', { target: { format: 'xml' } }, 400],
  ['hook', { target: { type: 'webhook', url: 'http://169.254.169.254/latest' } }, 400],
  ['hook', { testEmails: ['no address'] }, 400],
  ['hook', { nonsense: 1 }, 400],
  ['hook', { testEmails: ['ops@shop.example'] }, 200],
])('a test of %s with %j is answered %i', async (id, body, status) => {
  expect((await send(id, body)).status).toBe(status);
});

test('a test is audited, without what it sent', async () => {
  await send('hook', { target: { token: TOKEN } });
  const audit = await call('GET', '/audit?limit=5');
  expect(audit.body.items).toContainEqual(
    expect.objectContaining({ action: 'targets.test', target: 'hook', actor: 'admin', result: 'ok' }),
  );
  withoutSecrets(audit);
});

test('more tests in a minute than anybody needs are refused, with the time to wait', async () => {
  const statuses = [];
  for (let count = 0; count < 31; count++) statuses.push((await send('log')).status);
  expect(statuses.slice(0, 30)).toEqual(Array(30).fill(200));
  expect(statuses[30]).toBe(429);
});
