import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ADMIN_PASSWORD } from '../acceptance/bin.ts';
import { until } from '../helpers/until.ts';
import { addedUser, callerWith, GOOD_PASSWORD, loginAt } from '../helpers/users.ts';
import { type ApiServer, type CallOptions, JSON_BODY, startApiServer } from './api-server.ts';
import { documented, exampleOf } from './document.ts';
import { jsonCaller } from './json.ts';

const METRICS = 'token-of-the-metrics-77';
const PUSH = 'token-of-the-pipeline-42';
const CHOSEN = 'eleven grey herons count';
const WRONG = 'a-wrong-guess-1f6e\u00e9"x';
const IN_NAME = 'typed into the name 5d1c';

let server: ApiServer;
/** Everything that anybody was answered but for the answers whose purpose is to hand a token over. */
const answers: string[] = [];
const secrets = new Set<string>();

beforeAll(async () => {
  server = await startApiServer({
    settings: {
      api: { loginRateLimit: '1000/second', loginBackOff: { after: 0 } },
      metrics: { token: METRICS },
      pipelines: [{ id: 'edge', engine: 'custom', push: true, token: PUSH }],
    },
  });
});
afterAll(() => server.stop());

async function ask(method: string, path: string, options?: CallOptions) {
  const answer = await server.call(method, path, options);
  answers.push(answer.text, JSON.stringify(answer.headers));
  return answer;
}

/** Tokens are also what their parts are: a signature alone completes what others can guess. */
function keep(token: string): void {
  const bare = token.replace('Bearer ', '');
  secrets.add(bare);
  secrets.add(bare.split('.').at(-1) ?? bare);
}

const login = (path: string, username: string, password: string) =>
  ask('POST', path, {
    headers: [JSON_BODY, ['sec-fetch-site', 'same-origin']],
    body: JSON.stringify({ username, password }),
  });

/** How a secret may look where it leaks: as it is, in JSON, in an address, in base64. */
const forms = (secret: string): string[] => [
  secret,
  JSON.stringify(secret).slice(1, -1),
  encodeURIComponent(secret),
  Buffer.from(secret).toString('base64').replace(/=+$/, ''),
];

it('a life of users, passwords, tokens and browsers, right and wrong', async () => {
  for (const secret of [ADMIN_PASSWORD, GOOD_PASSWORD, CHOSEN, WRONG, IN_NAME, METRICS, PUSH])
    secrets.add(secret);
  keep(server.token);
  const user = await addedUser(server, 'ann', { roles: ['editor'] });
  keep(user.token);
  for (const path of ['/api/v1/auth/login', '/session/login']) {
    await login(path, 'admin', WRONG);
    await login(path, IN_NAME, WRONG);
    await ask('POST', path, {
      headers: [JSON_BODY],
      body: `{"username":"admin","password":"${ADMIN_PASSWORD}`,
    });
    await ask('POST', path, { headers: [['content-type', 'text/plain']], body: ADMIN_PASSWORD });
    await login(path, `${ADMIN_PASSWORD}\r\n`, ADMIN_PASSWORD);
  }
  for (const header of [
    `Bearer Bearer ${server.token}`,
    `Basic ${Buffer.from(`admin:${ADMIN_PASSWORD}`).toString('base64')}`,
    `${server.token}x`,
    server.token.replace('Bearer ', 'Token '),
    ADMIN_PASSWORD,
  ])
    for (const path of ['/api/v1/notifications', '/ingest/samples', '/metrics', '/session', '/nothing'])
      await ask(path.startsWith('/ingest') ? 'POST' : 'GET', path, { headers: [['authorization', header]] });
  for (const path of [
    `/api/v1/notifications?token=${server.token.slice(7)}&password=${encodeURIComponent(ADMIN_PASSWORD)}`,
    `/nothing/${server.token.slice(7)}`,
  ])
    await server.call('GET', path, { headers: [] });
  const browser = await server.call('POST', '/session/login', {
    headers: [JSON_BODY, ['sec-fetch-site', 'same-origin']],
    body: JSON.stringify({ username: 'ann', password: GOOD_PASSWORD }),
  });
  const [sid = ''] = [browser.headers['set-cookie'] ?? []].flat();
  secrets.add(sid.split(';')[0]?.split('=')[1] ?? '');
  const { csrfToken } = JSON.parse(browser.text);
  const issued = await server.call('POST', '/session/token', {
    headers: [JSON_BODY, ['sec-fetch-site', 'same-origin'], ['cookie', sid], ['x-csrf-token', csrfToken]],
  });
  keep(JSON.parse(issued.text).token);
  const change = { currentPassword: GOOD_PASSWORD, password: CHOSEN };
  const wrongly = await user.call('PATCH', `/system/users/${user.id}/info`, {
    ...change,
    currentPassword: WRONG,
  });
  answers.push(wrongly.text);
  const changed = await user.call('PATCH', `/system/users/${user.id}/info`, change);
  keep(changed.body.items[0].token);
  const last = await loginAt(server, 'ann', CHOSEN);
  keep(last.body.token);
  answers.push((await callerWith(server, last.body.token)('POST', '/auth/logout')).text);
  answers.push((await callerWith(server, last.body.token)('GET', '/auth/me')).text);
  expect([wrongly.status, changed.status, last.status]).toEqual([400, 200, 200]);
  expect(Math.min(...[...secrets].map(secret => secret.length))).toBeGreaterThan(12);
});

it('leaves no password and no token in anything that can be read afterwards', async () => {
  const entries = async () =>
    (await jsonCaller(server)('GET', '/audit?action=auth.login&result=refused')).body.items.length;
  await until(async () => (await entries()) > 0, 'the refusals in the audit');
  for (const operation of documented.filter(({ method }) => method === 'GET')) {
    const { path, query } = exampleOf(operation);
    await ask('GET', `${path}?${query}`);
  }
  for (const path of ['/openapi.json', '/', '/session', '/api/v1/audit?limit=1000', '/api/v1/version/show'])
    await ask('GET', path);
  const metrics = await ask('GET', '/metrics', { headers: [['authorization', `Bearer ${METRICS}`]] });
  expect(metrics.status).toBe(200);
  const seen = [...answers, server.log()];
  for (const secret of secrets)
    for (const form of forms(secret)) expect(seen.filter(text => text.includes(form))).toEqual([]);
});

it('keeps none of them in the clear on disk', () => {
  const files = readdirSync(server.data, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => ({ name: entry.name, bytes: readFileSync(join(entry.parentPath, entry.name)) }));
  expect(files.length).toBeGreaterThan(2);
  for (const secret of secrets)
    for (const form of forms(secret))
      expect(files.flatMap(({ name, bytes }) => (bytes.includes(form) ? [name] : []))).toEqual([]);
});
