import { expect, it } from 'vitest';
import { GOOD_PASSWORD } from '../helpers/users.ts';
import { login } from './client.ts';
import { installation, serve } from './harness.ts';

async function call(url: string, authorization: string, method: string, path: string, body?: object) {
  const answer = await fetch(`${url}/api/v1${path}`, {
    method,
    headers: { authorization, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  });
  return { status: answer.status, body: JSON.parse(await answer.text()) };
}

const logInAs = async (url: string, username: string) =>
  call(url, '', 'POST', '/auth/login', { username, password: GOOD_PASSWORD });

it.each([
  ['disabled', (id: string) => ['PATCH', `/system/users/${id}`, { disabled: true }] as const, 401],
  ['removed', (id: string) => ['DELETE', `/system/users/${id}`, undefined] as const, 401],
  ['logged out by an admin', (id: string) => ['DELETE', `/auth/users/${id}/token`, undefined] as const, 200],
])('who was %s before a kill -9 is so after it, and so are the tokens', async (_, change, afterwards) => {
  const folders = installation({ settings: {} });
  const first = await serve(folders);
  const { token } = await login(first.url);
  const made = await call(first.url, token, 'POST', '/system/users', {
    username: 'eve',
    password: GOOD_PASSWORD,
    roles: ['admin'],
    forcePasswordChange: false,
  });
  const { body } = await logInAs(first.url, 'eve');
  expect((await call(first.url, body.token, 'GET', '/system/users')).status).toBe(200);
  const [method, path, sent] = change(made.body.items[0].id);
  expect((await call(first.url, token, method, path, sent)).status).toBe(200);
  await first.kill();

  const second = await serve(folders);
  expect((await call(second.url, body.token, 'GET', '/system/users')).status).toBe(401);
  expect((await logInAs(second.url, 'eve')).status).toBe(afterwards);
  expect((await call(second.url, token, 'GET', '/system/users')).status).toBe(200);
});
