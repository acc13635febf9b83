import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ADMIN_PASSWORD } from '../acceptance/bin.ts';
import { until } from '../helpers/until.ts';
import { addedUser, GOOD_PASSWORD, loginAt } from '../helpers/users.ts';
import { type ApiServer, startApiServer } from './api-server.ts';
import { jsonCaller } from './json.ts';

const SECRET = 'a-secret-that-nobody-may-read';

let server: ApiServer;
let asAdmin: ReturnType<typeof jsonCaller>;

beforeAll(async () => {
  server = await startApiServer({
    settings: { api: { loginRateLimit: '1000/second' } },
    notifications: { targets: [{ id: 'hook', type: 'bulletin_message' }], notifications: [] },
  });
  asAdmin = jsonCaller(server);
});
afterAll(() => server.stop());

const entries = async (query: string) => (await asAdmin('GET', `/audit?${query}`)).body.items;

it('has the first admin, and every login with its name', async () => {
  expect(await entries('action=users.create&actor=headgate')).toMatchObject([
    { target: 'admin', reason: 'first admin', result: 'ok' },
  ]);
  await loginAt(server, 'admin', ADMIN_PASSWORD);
  const [login] = await entries('action=auth.login&result=ok&limit=1');
  expect(login).toMatchObject({ actor: 'admin', address: '127.0.0.1', count: 1 });
  expect(login.requestId).toMatch(/^[0-9a-f-]{36}$/);
});

it.each([
  [
    'users.create',
    'POST',
    '/system/users',
    { id: 'noted', username: 'noted', password: GOOD_PASSWORD },
    'noted',
  ],
  ['users.update', 'PATCH', '/system/users/noted', { roles: ['reader'], disabled: true }, 'noted'],
  ['users.endTokens', 'DELETE', '/auth/users/noted/token', undefined, 'noted'],
  ['users.remove', 'DELETE', '/system/users/noted', undefined, 'noted'],
  ['targets.create', 'POST', '/notification-targets', { id: 'made', type: 'bulletin_message' }, 'made'],
  ['targets.update', 'PATCH', '/notification-targets/made', { description: 'x' }, 'made'],
  ['targets.remove', 'DELETE', '/notification-targets/made', undefined, 'made'],
  ['secrets.put', 'PUT', '/system/secrets/key', { value: SECRET }, 'key'],
  ['settings.update', 'PATCH', '/system/settings/conf', { delivery: { retrySchedule: ['1s'] } }, ''],
])('has a change by %s, with the names of what was sent', async (action, method, path, body, target) => {
  expect((await asAdmin(method, path, body)).status).toBe(200);
  const [entry] = await entries(`action=${action}&limit=1`);
  const reason = body === undefined ? '' : Object.keys(body).join(', ');
  expect(entry).toMatchObject({ actor: 'admin', action, target, result: 'ok', reason });
});

it('has what was refused: changes, missing permissions, logins and tokens', async () => {
  const reader = await addedUser(server, 'peeking', { roles: ['reader'] });
  await reader.call('GET', '/audit');
  await reader.call('DELETE', '/notification-targets/hook');
  await asAdmin('DELETE', '/system/users/admin');
  await loginAt(server, 'admin', 'not it');
  await server.call('GET', '/api/v1/notifications', { headers: [] });
  await until(async () => {
    const kinds = (await entries('result=refused&limit=100')).map(
      ({ actor, action, reason }: Record<string, string>) => `${actor} ${action} ${reason}`,
    );
    return [
      'peeking audit.list forbidden',
      'peeking targets.remove forbidden',
      'admin users.remove conflict',
      'admin auth.login failed',
    ].every(kind => kinds.includes(kind));
  }, 'the refusals in the audit');
  await until(
    async () => (await entries('action=auth.token&limit=1')).length === 1,
    'the refused token in the audit',
  );
  expect((await entries('action=auth.token&limit=1'))[0].reason).toContain('No token was sent');
});

it('has what somebody did to the files themselves, taken over or refused, and nothing of what they hold', async () => {
  const file = join(server.config, 'notifications.yml');
  const before = readFileSync(file, 'utf8');
  const edited = (result: string) => entries(`action=files.edit&actor=file&result=${result}`);
  writeFileSync(file, `# ${SECRET}\n${before}`);
  await until(async () => (await edited('ok')).length === 1, 'the edit in the audit');
  expect(await edited('ok')).toMatchObject([
    { target: 'notifications.yml', reason: 'accepted', address: 'local' },
  ]);
  writeFileSync(file, `${SECRET}: 1\nnothing_like_this: 2\n`);
  await until(async () => (await edited('refused')).length === 1, 'the refused edit in the audit');
  expect(await edited('refused')).toMatchObject([{ target: 'notifications.yml', reason: '2 problems' }]);
  writeFileSync(file, before);
  await until(async () => (await edited('ok')).length === 2, 'the mended file in the audit');
  expect((await asAdmin('GET', '/audit')).text).not.toContain(SECRET);
});

it('does not tell of changes over the API as of edits of files', async () => {
  const count = async () => (await asAdmin('GET', '/audit?action=files.edit&limit=1')).body.totalCount;
  const before = await count();
  const made = { id: 'by_api', type: 'bulletin_message' };
  expect((await asAdmin('POST', '/notification-targets', made)).status).toBe(200);
  expect((await asAdmin('DELETE', '/notification-targets/by_api')).status).toBe(200);
  expect(await count()).toBe(before);
});

it('does not have what anybody reads', async () => {
  const before = (await asAdmin('GET', '/audit?limit=1')).body.totalCount;
  await asAdmin('GET', '/notifications');
  await asAdmin('GET', '/system/secrets');
  expect((await asAdmin('GET', '/audit?limit=1')).body.totalCount).toBe(before);
});

it('holds no password, secret or token, nor a name that nobody has', async () => {
  await loginAt(server, 'my-password-in-the-wrong-field', 'x');
  await until(
    async () => (await entries('action=auth.login&actor=&result=refused&limit=1')).length === 1,
    'the refused login in the audit',
  );
  const { token } = (await loginAt(server, 'admin', ADMIN_PASSWORD)).body;
  const { text } = await asAdmin('GET', '/audit');
  for (const secret of [SECRET, GOOD_PASSWORD, ADMIN_PASSWORD, 'wrong-field', token.slice(7), 'argon2'])
    expect(text).not.toContain(secret);
});

it('is filtered, and read page by page', async () => {
  expect(await entries('actor=nobody')).toEqual([]);
  expect(await entries('until=2020-01-01T00:00:00Z')).toEqual([]);
  const page = (await asAdmin('GET', '/audit?limit=2&offset=1&since=2020-01-01T00:00:00Z')).body;
  expect(page).toMatchObject({ count: 2, offset: 1, limit: 2 });
  const all = await entries('limit=3');
  expect(page.items[0].id).toBe(all[1].id);
  expect((await asAdmin('GET', '/audit?since=yesterday')).status).toBe(400);
  expect((await asAdmin('DELETE', '/audit')).status).toBe(405);
});
