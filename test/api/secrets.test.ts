import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ADMIN_PASSWORD } from '../acceptance/bin.ts';
import { noData } from '../acceptance/files.ts';
import { listenLocally } from '../acceptance/listen-locally.ts';
import { until } from '../helpers/until.ts';
import { type ApiServer, JSON_BODY, startApiServer } from './api-server.ts';

const SECRETS = {
  token: 'tok-4f1c"9d/~',
  password: 'päss-7be2"21\\x',
  path: 'T0000-B0000-XXXXYYYYZZZZ',
  push: 'push-token-83aa01',
  pull: 'pull-token-5510cd',
};

/** How a secret may look where it leaks: as it is, in JSON, in an address, in Basic authentication. */
const forms = (secret: string): string[] => [
  secret,
  JSON.stringify(secret).slice(1, -1),
  encodeURIComponent(secret),
  Buffer.from(`operator:${secret}`).toString('base64'),
];

let server: ApiServer;
let echo: Awaited<ReturnType<typeof listenLocally>>;
const answers: string[] = [];

beforeAll(async () => {
  // A receiver that shows whatever it was sent, as debugging ones do.
  echo = await listenLocally(
    createServer((request, response) => {
      request.resume();
      const shown = {
        url: request.url,
        headers: request.headers,
        decoded: decodedBasic(request.headers.authorization),
      };
      response.writeHead(request.url === '/metrics' ? 401 : 400).end(JSON.stringify(shown));
    }),
  );
  const hook = { type: 'webhook', url: `${echo.url}/services/${SECRETS.path}` };
  server = await startApiServer({
    settings: {
      api: { loginRateLimit: '1000/second' },
      pipelines: [
        { id: 'own', engine: 'custom', push: true, token: SECRETS.push },
        { id: 'edge', engine: 'vector', url: `${echo.url}/metrics`, interval: '1s', token: SECRETS.pull },
      ],
    },
    notifications: {
      targets: [
        { id: 'by_token', ...hook, url: `${echo.url}/hook`, authType: 'token', token: SECRETS.token },
        {
          id: 'by_password',
          ...hook,
          url: `${echo.url}/hook`,
          authType: 'basic',
          username: 'operator',
          password: SECRETS.password,
        },
        { id: 'by_address', ...hook },
      ],
      notifications: [
        { ...noData('silent', 'a:b', '3s'), targets: ['by_token', 'by_password', 'by_address'] },
      ],
    },
  });
});

afterAll(async () => {
  await server.stop();
  await echo.end();
});

const decodedBasic = (header = ''): string =>
  Buffer.from(header.replace(/^\w+ /, ''), 'base64').toString('utf8');

async function read(path: string) {
  const { text } = await server.call('GET', path);
  answers.push(text);
  return JSON.parse(text);
}

it('masks secrets in targets, and shows that they are set', async () => {
  const { items } = await read('/api/v1/notification-targets');
  expect(items).toMatchObject([
    { id: 'by_token', token: '********' },
    { id: 'by_password', username: 'operator', password: '********' },
    { id: 'by_address' },
  ]);
  expect((await read('/api/v1/notification-targets/by_token')).items).toMatchObject([{ token: '********' }]);
});

it('masks what a receiver echoes', async () => {
  const refused = async () => (await read('/api/v1/deliveries?state=refused')).items;
  await until(async () => (await refused()).length === 3, 'three refused deliveries');
  for (const { id } of await refused()) {
    const [delivery] = (await read(`/api/v1/deliveries/${id}`)).items;
    expect(delivery.log[0].answer).toContain('********');
  }
});

it('shows no secret in any answer, refusal or log record', async () => {
  await until(
    async () => (await read('/api/v1/system/engines')).items[1].state === 'unreachable',
    'the refused page',
  );
  for (const path of [
    '/api/v1/system/inputs',
    '/api/v1/system/messages',
    '/api/v1/system/config/status',
    '/api/v1/notifications',
    '/api/v1/incidents',
    '/api/v1/deliveries',
    `/api/v1/deliveries/${SECRETS.push.toUpperCase()}`,
  ])
    await read(path);
  const body = JSON.stringify({ username: 'admin', password: SECRETS.password });
  const refusals = [
    await server.call('POST', '/api/v1/auth/login', { headers: [JSON_BODY], body }),
    await server.call('POST', '/api/v1/auth/login', { headers: [JSON_BODY], body: body.slice(0, -2) }),
    await server.call('GET', '/api/v1/notifications', {
      headers: [['authorization', `Bearer ${SECRETS.pull}`]],
    }),
    await server.call('POST', '/ingest/impstats', {
      headers: [['authorization', `Bearer ${SECRETS.push}`]],
      body: '',
    }),
  ];
  expect(refusals.map(({ status }) => status)).toEqual([401, 400, 401, 403]);
  const seen = [...answers, ...refusals.map(({ text }) => text), server.log()];
  // The address of a target is shown to whoever may read targets, and to nobody else.
  const { path, ...always } = SECRETS;
  for (const secret of [...Object.values(always), ADMIN_PASSWORD])
    for (const form of forms(secret)) expect(seen.filter(text => text.includes(form))).toEqual([]);
  expect(server.log()).not.toContain(path);
  expect(
    answers.filter(text => !text.includes('"type":"webhook"')).filter(text => text.includes(path)),
  ).toEqual([]);
  expect(server.log()).not.toContain(server.token.replace('Bearer ', ''));
});

it('keeps no secret of the configuration, no password and no signing key readable in the data folder', async () => {
  const texts = readdirSync(server.data, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => readFileSync(join(entry.parentPath, entry.name)));
  expect(texts.length).toBeGreaterThan(2);
  // The address of a target is none: versions of the configuration keep it.
  const { path: _, ...always } = SECRETS;
  for (const secret of [...Object.values(always), ADMIN_PASSWORD, 'BEGIN PRIVATE KEY'])
    expect(texts.filter(text => text.includes(secret))).toEqual([]);
});
