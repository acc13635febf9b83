import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { ADMIN_PASSWORD } from '../acceptance/bin.ts';
import { handBrowser } from '../helpers/browser-by-hand.ts';
import { connectProvider } from '../helpers/connect-provider.ts';
import { CLIENT, type IdentityProvider, startIdentityProvider } from '../helpers/identity-provider.ts';
import { type ApiServer, JSON_BODY, startApiServer } from './api-server.ts';

let server: ApiServer;
let provider: IdentityProvider;

beforeEach(async () => {
  server = await startApiServer({});
  provider = await startIdentityProvider({ base: server.url });
  provider.users.set('ann', { groups: ['admins'] });
  provider.users.set('bob', { groups: ['readers'] });
});
afterEach(async () => {
  await server.stop();
  await provider.close();
});

async function signIn(login: string) {
  const browser = handBrowser();
  const isCallback = (url: string): boolean => url.startsWith(`${server.url}/session/callback`);
  const callback = await browser.follow(`${server.url}/session/sso`, isCallback, { login, password: 'any' });
  expect((await browser.ask(callback)).headers.get('location')).toBe('/');
  return browser;
}

/** What both doors for passwords answer. */
async function doors(username = 'admin', password = ADMIN_PASSWORD) {
  const body = JSON.stringify({ username, password });
  const headers = [JSON_BODY, ['sec-fetch-site', 'same-origin']] as const;
  const answers = await Promise.all(
    ['/api/v1/auth/login', '/session/login'].map(path => server.call('POST', path, { headers, body })),
  );
  return answers.map(({ status, text }) => [status, JSON.parse(text).code]);
}

const OPEN = [
  [200, undefined],
  [200, undefined],
];
const CLOSED = [
  [403, 'local-login-disabled'],
  [403, 'local-login-disabled'],
];

const look = async (browser = handBrowser()) =>
  JSON.parse(await (await browser.ask(`${server.url}/session`)).text());

const switchOff = (openid: object = {}) => connectProvider(server, provider, { fallback: false, openid });

/** Writes the settings by hand, as somebody with an editor does. */
const write = (fallback: boolean): void =>
  writeFileSync(
    join(server.config, 'headgate.yml'),
    JSON.stringify({
      instance: { externalUrl: server.url },
      auth: {
        type: 'openid',
        fallback,
        openid: {
          issuer: provider.issuer,
          ...CLIENT,
          scope: 'openid profile groups',
          groups: { mapping: { admins: ['admin'], readers: ['reader'] } },
        },
      },
    }),
  );

it('cannot be switched off before an admin has come in by the provider', async () => {
  expect(await switchOff()).toEqual({ status: 409, code: 'conflict' });
  expect(await connectProvider(server, provider)).toMatchObject({ status: 200 });
  await signIn('bob');
  expect(await switchOff()).toEqual({ status: 409, code: 'conflict' });
  expect(await doors()).toEqual(OPEN);
});

it('once an admin has, it can: no password counts then, whoever is named', async () => {
  await connectProvider(server, provider);
  await signIn('ann');
  expect(await switchOff()).toMatchObject({ status: 200 });
  expect(await doors()).toEqual(CLOSED);
  expect(await doors('nobody', 'x')).toEqual(CLOSED);
  expect(await look()).toMatchObject({ signedIn: false, localLogin: false });
  expect(await look(await signIn('bob'))).toMatchObject({ signedIn: true, isLocalLoginKept: false });
  expect((await server.call('GET', '/api/v1/auth/me')).status).toBe(200);
});

it('a file that says so before goes on with passwords, says so, and ends them with the first admin', async () => {
  write(false);
  await expect.poll(() => server.log()).toContain('local login stays on');
  expect(await doors()).toEqual(OPEN);
  expect(await look(await signIn('bob'))).toMatchObject({ localLogin: true, isLocalLoginKept: true });
  expect(await connectProvider(server, provider, { fallback: false })).toMatchObject({ status: 200 });
  await signIn('ann');
  expect(await doors()).toEqual(CLOSED);
});

it('another provider has yet to prove itself', async () => {
  await connectProvider(server, provider);
  await signIn('ann');
  expect(await switchOff()).toMatchObject({ status: 200 });
  expect(await switchOff({ issuer: 'https://other.example' })).toEqual({ status: 409, code: 'conflict' });
  expect(await doors()).toEqual(CLOSED);
});

it('whoever may write the file opens it again', async () => {
  await connectProvider(server, provider);
  await signIn('ann');
  await switchOff();
  write(true);
  await expect.poll(doors).toEqual(OPEN);
});

it('with the provider gone, whoever may write the file opens it, and the versions say that a file did', async () => {
  await connectProvider(server, provider);
  await signIn('ann');
  await switchOff();
  await provider.close();
  expect(await doors()).toEqual(CLOSED);
  write(true);
  await expect.poll(doors).toEqual(OPEN);
  await expect
    .poll(async () => JSON.parse((await server.call('GET', '/api/v1/version?limit=1')).text).items[0])
    .toMatchObject({ author_name: 'file' });
});

it('stays on where there is no provider', async () => {
  const { status } = await server.call('PATCH', '/api/v1/system/settings/conf', {
    headers: [['authorization', server.token], JSON_BODY],
    body: JSON.stringify({ auth: { fallback: false } }),
  });
  expect([status, await doors()]).toEqual([200, OPEN]);
});
