import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { ask, type HostedCall, hostedInstallation, twoOrganizations } from '../helpers/hosted.ts';
import { createPostgresDatabase } from '../helpers/postgres.ts';
import { until } from '../helpers/until.ts';

const PASSWORD = 'forty-two purple elephants';

it('takes a token of the login service at the host of a workspace, and knows nobody of another organization', async () => {
  const { api, tokenOf, folders } = await twoOrganizations();
  expect(readdirSync(join(folders.data, 'workspaces')).sort()).toEqual(['main-acme', 'main-corp']);
  const token = tokenOf('acme');
  expect((await api('main-acme', '/system/inputs', { token })).body).toEqual({ items: [], count: 0 });
  expect((await api('MAIN-ACME', '/auth/me', { token })).body.items[0]).toMatchObject({ role: 'admin' });
  for (const label of ['main-corp', 'test-acme', 'nowhere']) {
    const { status } = await api(label, '/system/inputs', { token });
    expect([label, status]).toEqual([label, 404]);
  }
  expect((await api('main-acme', '/system/inputs')).status).toBe(401);
  expect((await api('main-acme', '/auth/login', { method: 'POST', body: {} })).status).toBe(401);
  for (const path of ['/auth/login', '/system/users', '/system/signing-keys', '/system/settings/auth'])
    expect([path, (await api('main-acme', path, { token })).status]).toEqual([path, 404]);
});

it('believes X-Forwarded-Host of nobody who is no trusted proxy', async () => {
  const { api, tokenOf } = await twoOrganizations();
  const answer = await api('main-acme', '/system/inputs', {
    token: tokenOf('corp'),
    headers: { 'x-forwarded-host': 'main-corp.localhost' },
  });
  expect(answer.status).toBe(404);
});

it('lets an owner make credentials, which get what they were given and no more', async () => {
  const { api, plane, tokenFor } = await twoOrganizations();
  const roles = (role: string) => ({
    organizationRole: 'user',
    workspaces: [{ workspaceId: 'main', workspaceRole: 'user', products: [{ product: 'stream', role }] }],
  });
  const body = { name: 'ci', description: 'builds', enabled: true, roles: roles('reader') };
  const made = await plane('acme', '/api-credentials', { method: 'POST', body });
  expect(made).toMatchObject({
    status: 201,
    body: { name: 'ci', roles: roles('reader'), organizationId: 'acme' },
  });
  const { clientId, clientSecret } = made.body;
  const listed = (await plane('acme', '/api-credentials')).body;
  expect(listed).toMatchObject({ count: 2 });
  expect(JSON.stringify(listed)).not.toContain(clientSecret);
  const token = await tokenFor({ clientId, clientSecret });
  expect((await api('main-acme', '/system/inputs', { token })).status).toBe(200);
  const write = { method: 'POST', body: { id: 'app', type: 'syslog' } };
  expect((await api('main-acme', '/system/inputs', { token, ...write })).status).toBe(403);
  expect((await plane('acme', '/api-credentials', { token })).status).toBe(403);
  expect((await plane('corp', '/api-credentials', { token })).status).toBe(404);

  const change = (sent: object) =>
    plane('acme', `/api-credentials/${clientId}`, { method: 'PATCH', body: sent });
  expect((await change({ enabled: false })).status).toBe(204);
  expect((await api('main-acme', '/system/inputs', { token })).status).toBe(401);
  expect((await change({ enabled: true })).status).toBe(204);
  expect((await api('main-acme', '/system/inputs', { token })).status).toBe(401);
  const again = await plane('acme', `/api-credentials/${clientId}/rotate`, {
    method: 'POST',
    body: { grace: '0s' },
  });
  await expect(tokenFor({ clientId, clientSecret })).rejects.toThrow('invalid_client');
  await tokenFor(again.body);
  expect((await plane('acme', `/api-credentials/${clientId}`, { method: 'DELETE' })).status).toBe(204);
  await expect(tokenFor(again.body)).rejects.toThrow('invalid_client');
  const nobody = await plane('acme', `/api-credentials/${clientId}`);
  expect(nobody).toMatchObject({ status: 404, body: { statusCode: 404, message: expect.any(String) } });
});

it('lets members sign in, choose a password, manage their organization and nobody else’s', async () => {
  const { api, plane, passwordOf, authUrl } = await twoOrganizations();
  const signIn = (body: object) => ask(`${authUrl}/session`, { method: 'POST', body });
  const username = 'ann@acme.example';
  const first = await signIn({ username, password: passwordOf('acme') });
  expect(first).toMatchObject({ status: 200, body: { forcePasswordChange: true } });
  const tokenIn = (answer: typeof first): string => answer.body.token.replace('Bearer ', '');
  expect((await plane('acme', '/members', { token: tokenIn(first) })).status).toBe(403);
  const renewed = await signIn({ username, password: passwordOf('acme'), newPassword: PASSWORD });
  const token = tokenIn(renewed);
  expect((await plane('acme', '/members', { token })).body.items).toMatchObject([{ email: username }]);
  expect((await api('main-acme', '/auth/me', { token })).body.items[0]).toMatchObject({ kind: 'member' });
  expect((await api('main-corp', '/auth/me', { token })).status).toBe(404);
  expect((await plane('corp', '/members', { token })).status).toBe(404);

  const roles = { organizationRole: 'admin' };
  const bob = await plane('acme', '/members', {
    token,
    method: 'POST',
    body: { email: 'bob@acme.example', roles },
  });
  expect(bob).toMatchObject({ status: 201, body: { initialPassword: expect.any(String) } });
  const own = (await plane('acme', '/members', { token })).body.items[0].userId;
  expect((await plane('acme', `/members/${own}`, { token, method: 'DELETE' })).status).toBe(409);

  const made = await plane('acme', '/workspaces', { token, method: 'POST', body: { workspaceId: 'test' } });
  expect(made).toMatchObject({ status: 201, body: { leaderFQDN: 'test-acme.localhost', state: 'Active' } });
  await until(async () => (await api('test-acme', '/system/inputs', { token })).status === 200);
  expect((await plane('acme', '/workspaces/test', { token, method: 'DELETE' })).status).toBe(202);
  await until(async () => (await api('test-acme', '/system/inputs', { token })).status === 404);
});

it('signs a browser in to the page of a workspace by way of the login service', async () => {
  const { port, authUrl, passwordOf } = await twoOrganizations();
  const host = `main-acme.localhost:${port}`;
  const page = (path: string, call: HostedCall = {}) =>
    ask(`http://127.0.0.1:${port}${path}`, { host, ...call });
  const own = { 'sec-fetch-site': 'same-origin' };
  const cookieOf = (answer: Awaited<ReturnType<typeof page>>): string =>
    [answer.headers['set-cookie'] ?? []]
      .flat()
      .map(line => line.split(';')[0])
      .join('; ');

  expect((await page('/session')).body).toMatchObject({ signedIn: false, localLogin: false });
  const away = await page('/session/sso?returnTo=%2F%23%2Finputs');
  const to = new URL(String(away.headers.location));
  expect(to.origin + to.pathname).toBe(`${authUrl}/sign-in`);
  const attempt = cookieOf(away);

  const login = { username: 'ann@acme.example', password: passwordOf('acme') };
  const signedIn = await ask(`${authUrl}/session/login`, { method: 'POST', body: login, headers: own });
  expect(signedIn.body).toMatchObject({ signedIn: true, forcePasswordChange: true });
  const way = { workspace: to.searchParams.get('workspace'), state: to.searchParams.get('state') };
  const handOver = (cookie: string, csrf: string, body: object = way) =>
    ask(`${authUrl}/session/hand-over`, {
      method: 'POST',
      body,
      headers: { ...own, cookie, 'x-csrf-token': csrf },
    });
  expect((await handOver(cookieOf(signedIn), signedIn.body.csrfToken)).status).toBe(403);
  const changed = await ask(`${authUrl}/session/password`, {
    method: 'POST',
    body: { currentPassword: login.password, password: PASSWORD },
    headers: { ...own, cookie: cookieOf(signedIn), 'x-csrf-token': signedIn.body.csrfToken },
  });
  expect(changed.status).toBe(200);
  const cookie = cookieOf(changed);
  const { csrfToken } = (await ask(`${authUrl}/session`, { headers: { cookie } })).body;
  expect((await handOver(cookie, csrfToken, { ...way, workspace: 'main-corp' })).status).toBe(404);
  const { location } = (await handOver(cookie, csrfToken)).body;
  expect(new URL(location).host).toBe(host);
  const back = new URL(location).pathname + new URL(location).search;
  const stolen = await page(back);
  expect(stolen.headers.location).toBe('/?sso=expired');
  const finished = await page(back, { headers: { cookie: attempt } });
  expect(finished.headers.location).toBe('/#/inputs');
  expect((await page(back, { headers: { cookie: attempt } })).headers.location).toBe('/?sso=expired');

  const inside = {
    cookie: cookieOf(finished)
      .split('; ')
      .filter(one => one.startsWith('sid='))
      .join(),
  };
  const session = (await page('/session', { headers: inside })).body;
  expect(session).toMatchObject({ signedIn: true, user: { username: 'ann@acme.example' } });
  const issued = await page('/session/token', {
    method: 'POST',
    body: {},
    headers: { ...own, ...inside, 'x-csrf-token': session.csrfToken },
  });
  const token = issued.body.token.replace('Bearer ', '');
  expect((await page('/api/v1/auth/me', { token })).body.items[0]).toMatchObject({
    kind: 'member',
    role: 'admin',
  });
});

it('serves the same workspaces from two processes on PostgreSQL, and ends a token in both before it says so', async () => {
  const { url, remove } = await createPostgresDatabase();
  onTestFinished(remove);
  const installed = await hostedInstallation(url);
  const { cli, port, tokenFor } = installed;
  await cli('org', 'create', 'acme', '--owner', 'ann@acme.example', '--workspace', 'main');
  const robot = JSON.parse(
    await cli('credentials', 'create', 'robot', '--org', 'acme', '--role', 'owner', '--json'),
  );
  const ci = JSON.parse(
    await cli('credentials', 'create', 'ci', '--org', 'acme', '--role', 'admin', '--json'),
  );
  const login = await installed.serveLogin();
  const other = await installed.serve(0);
  const first = await installed.serve(port);
  const host = `main-acme.localhost:${port}`;
  const api = (served: { readonly url: string }, path: string, call: HostedCall = {}) =>
    ask(`${served.url}/api/v1${path}`, { host, ...call });
  const token = await tokenFor(ci);
  for (const served of [first, other])
    expect((await api(served, '/system/inputs', { token })).status).toBe(200);

  const target = { id: 'bell', type: 'bulletin_message' };
  expect((await api(other, '/notification-targets', { token, method: 'POST', body: target })).status).toBe(
    200,
  );
  await until(async () => (await api(first, '/notification-targets', { token })).body.count === 1);

  const disabled = await ask(`${login.url}/v1/organizations/acme/api-credentials/${ci.clientId}`, {
    method: 'PATCH',
    token: await tokenFor(robot),
    body: { enabled: false },
  });
  expect(disabled.status).toBe(204);
  await login.kill();
  for (const served of [first, other]) expect((await api(served, '/auth/me', { token })).status).toBe(401);
  await installed.serveLogin();
  await expect(tokenFor(ci)).rejects.toThrow('invalid_client');
});
