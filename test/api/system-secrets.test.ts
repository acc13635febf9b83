import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import * as z from 'zod';
import { noData } from '../acceptance/files.ts';
import { listenLocally } from '../acceptance/listen-locally.ts';
import { until } from '../helpers/until.ts';
import { type ApiServer, JSON_BODY, startApiServer } from './api-server.ts';

const PATH = '/api/v1/system/secrets';
const VALUE = 'the-hidden-token';

let server: ApiServer;
let hook: Awaited<ReturnType<typeof listenLocally>>;
/** The Authorization header of every request that the webhook was sent. */
let received: (string | undefined)[];

beforeEach(async () => {
  received = [];
  hook = await listenLocally(
    createServer((request, response) => {
      received.push(request.headers.authorization);
      request.resume();
      response.writeHead(200).end();
    }),
  );
  server = await startApiServer({ settings: {}, notifications: {} });
});
afterEach(async () => {
  await server.stop();
  await hook.end();
});

const answerShape = z.object({
  items: z.array(z.record(z.string(), z.unknown())),
  count: z.number(),
  totalCount: z.number().optional(),
});

async function ask(method: string, path: string, body?: object) {
  const json = method === 'PUT' ? [JSON_BODY] : [];
  const { status, text } = await server.call(method, path, {
    headers: [['authorization', server.token], ...json],
    ...(method === 'PUT' && { body: body === undefined ? '' : JSON.stringify(body) }),
  });
  return { status, text };
}

async function itemsOf(method: string, path: string, body?: object) {
  const { status, text } = await ask(method, path, body);
  expect(status, text).toBe(200);
  const { items, count } = answerShape.parse(JSON.parse(text));
  expect(count).toBe(items.length);
  return items;
}

const facts = (name: string) => ({
  id: name,
  name,
  createdAt: expect.stringMatching(/Z$/),
  updatedAt: expect.stringMatching(/Z$/),
  updatedBy: 'admin',
});

it('puts, lists, gets and removes secrets, and never answers a value', async () => {
  expect(await itemsOf('GET', PATH)).toEqual([]);
  for (const name of ['b', 'a', 'c'])
    expect(await itemsOf('PUT', `${PATH}/${name}`, { value: VALUE })).toEqual([facts(name)]);

  expect(await itemsOf('GET', PATH)).toEqual(['a', 'b', 'c'].map(facts));
  const page = await ask('GET', `${PATH}?offset=1&limit=1`);
  expect(JSON.parse(page.text)).toEqual({
    items: [facts('b')],
    count: 1,
    offset: 1,
    limit: 1,
    totalCount: 3,
  });
  expect(await itemsOf('GET', `${PATH}/b`)).toEqual([facts('b')]);
  expect(await itemsOf('DELETE', `${PATH}/b`)).toEqual([facts('b')]);
  expect((await ask('GET', `${PATH}/b`)).status).toBe(404);
  expect((await ask('DELETE', `${PATH}/b`)).status).toBe(404);
  expect(await itemsOf('GET', PATH)).toEqual(['a', 'c'].map(facts));
  expect(server.log()).not.toContain(VALUE);
});

it('takes one of 20 writers at once, whole', async () => {
  const values = Array.from({ length: 20 }, (_, index) => `value-${index}`);
  const puts = await Promise.all(values.map(value => ask('PUT', `${PATH}/one`, { value })));
  expect(puts.map(({ status }) => status)).toEqual(values.map(() => 200));
  expect(await itemsOf('GET', PATH)).toEqual([facts('one')]);
});

it.each([
  ['no body', undefined],
  ['no value', {}],
  ['an empty value', { value: '' }],
  ['a number', { value: 1 }],
  ['a mask', { value: '********' }],
  ['another key', { value: VALUE, name: 'other' }],
  ['too long a value', { value: VALUE.repeat(5000) }],
])('refuses %s with 400, not quoting it', async (_, body) => {
  const { status, text } = await ask('PUT', `${PATH}/one`, body);
  expect([status, text]).toEqual([400, expect.stringContaining('"code":"invalid-request"')]);
  expect(text).not.toContain(VALUE);
  expect(await itemsOf('GET', PATH)).toEqual([]);
});

it.each([
  ['a space', 'a%20b'],
  ['a dot', 'a.b'],
  ['129 characters', 'x'.repeat(129)],
])('refuses a name with %s with 400', async (_, name) => {
  expect((await ask('PUT', `${PATH}/${name}`, { value: VALUE })).status).toBe(400);
});

it('sends the changed secret from then on, without a restart', async () => {
  await itemsOf('PUT', `${PATH}/ops_hook`, { value: 'first-token' });
  const target = {
    id: 'hook',
    type: 'webhook',
    url: hook.url,
    authType: 'token',
    token: '${secret:ops_hook}',
  };
  const write = (...names: readonly string[]) =>
    writeFileSync(
      join(server.config, 'notifications.yml'),
      JSON.stringify({
        targets: [target],
        notifications: names.map(name => noData(name, `a:${name}`, '1s')),
      }),
    );
  write('one');
  await until(() => received.length > 0, 'the first alarm');
  await itemsOf('PUT', `${PATH}/ops_hook`, { value: 'second-token' });
  write('one', 'two');
  await until(() => received.length > 1, 'the second alarm');
  expect(received).toEqual(['Bearer first-token', 'Bearer second-token']);
});

it('mends a configuration that waited for it, and is not removed while it is referred to', async () => {
  const target = {
    id: 'hook',
    type: 'webhook',
    url: hook.url,
    authType: 'token',
    token: '${secret:ops_hook}',
  };
  writeFileSync(join(server.config, 'notifications.yml'), JSON.stringify({ targets: [target] }));
  const state = async () => (await itemsOf('GET', '/api/v1/system/config/status'))[0]?.state;
  await until(async () => (await state()) === 'error', 'the missing secret');
  await itemsOf('PUT', `${PATH}/ops_hook`, { value: VALUE });
  expect(await state()).toBe('ok');

  const { status, text } = await ask('DELETE', `${PATH}/ops_hook`);
  expect([status, text]).toEqual([409, expect.stringContaining("target 'hook' (token)")]);
  expect(await itemsOf('GET', PATH)).toEqual([facts('ops_hook')]);
});
