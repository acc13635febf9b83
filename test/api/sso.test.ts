import { afterEach, beforeEach, expect, it } from 'vitest';
import { type HandBrowser, handBrowser } from '../helpers/browser-by-hand.ts';
import { connectProvider } from '../helpers/connect-provider.ts';
import { CLIENT, type IdentityProvider, startIdentityProvider } from '../helpers/identity-provider.ts';
import { type ApiServer, JSON_BODY, startApiServer } from './api-server.ts';

let server: ApiServer;
let provider: IdentityProvider;

beforeEach(async () => {
  server = await startApiServer({ settings: { api: { loginRateLimit: '100/second' } } });
  provider = await startIdentityProvider({ base: server.url });
});
afterEach(async () => {
  await server.stop();
  await provider.close();
});

async function connect(openid: object = {}): Promise<void> {
  expect(await connectProvider(server, provider, { openid })).toMatchObject({ status: 200 });
}

const isCallback = (url: string): boolean => url.startsWith(`${server.url}/session/callback`);
const isAtProvider = (url: string): boolean => url.startsWith(provider.issuer);

/** Signs in at the provider; answers the address that the browser is sent back to. */
const comeBack = (browser: HandBrowser, login: string, path = '/session/sso'): Promise<string> =>
  browser.follow(`${server.url}${path}`, isCallback, { login, password: 'any' });

/** Where a callback leads. */
async function arrive(browser: HandBrowser, callback: string): Promise<string | null> {
  const answer = await browser.ask(callback);
  expect([answer.status, await answer.text()]).toEqual([303, '']);
  return answer.headers.get('location');
}

async function signIn(login: string, browser = handBrowser()): Promise<HandBrowser> {
  expect(await arrive(browser, await comeBack(browser, login))).toBe('/');
  return browser;
}

const bodyOf = async (answer: Promise<Response>) => JSON.parse(await (await answer).text());
const session = (browser: HandBrowser) => bodyOf(browser.ask(`${server.url}/session`));

it('signs somebody in who was never here, as the provider calls them, with the role of their groups', async () => {
  await connect();
  provider.users.set('ann', { groups: ['staff', 'readers'] });
  const browser = await signIn('ann');
  const found = await session(browser);
  expect(found).toMatchObject({
    signedIn: true,
    method: 'sso',
    user: { username: 'ann', role: 'reader' },
    forcePasswordChange: false,
    sso: { name: 'Corp' },
  });
  const headers = { 'sec-fetch-site': 'same-origin', 'x-csrf-token': found.csrfToken };
  const { token } = await bodyOf(browser.ask(`${server.url}/session/token`, { method: 'POST', headers }));
  const me = await bodyOf(fetch(`${server.url}/api/v1/auth/me`, { headers: { authorization: token } }));
  expect(me.items[0]).toMatchObject({ name: 'ann', role: 'reader' });
  expect(server.log()).not.toContain(CLIENT.client_secret);
  const metrics = await server.call('GET', '/metrics', { headers: [] });
  expect(metrics.text).toContain('headgate_logins_total{outcome="sso-ok"} 1');
});

it('knows somebody again by who the provider says they are, whatever they are called', async () => {
  await connect();
  provider.users.set('ann', { groups: ['readers'] });
  const first = await session(await signIn('ann'));
  provider.users.set('ann', { groups: ['admins'], preferred_username: 'ann.married' });
  const second = await session(await signIn('ann'));
  expect(second.user).toEqual({ ...first.user, role: 'admin' });
});

it('reads the claims of the ID token where they stand there', async () => {
  await provider.close();
  provider = await startIdentityProvider({ base: server.url, inIdToken: true });
  await connect();
  provider.users.set('ann', { groups: ['admins'] });
  expect(await session(await signIn('ann'))).toMatchObject({ user: { username: 'ann', role: 'admin' } });
});

it('never hands a local user to whoever is called the same', async () => {
  await connect();
  provider.users.set('admin', { groups: ['readers'] });
  const { user } = await session(await signIn('admin'));
  expect(user).toMatchObject({ username: 'admin@corp.example', role: 'reader' });
});

it('leads back to where somebody was, and nowhere else', async () => {
  await connect();
  const paths = [
    ['/#/incidents/7', '/#/incidents/7'],
    ['//evil.example', '/'],
    ['https://evil.example', '/'],
  ] as const;
  for (const [asked, expected] of paths) {
    const browser = handBrowser();
    const callback = await comeBack(browser, 'ann', `/session/sso?returnTo=${encodeURIComponent(asked)}`);
    expect(await arrive(browser, callback)).toBe(expected);
  }
});

it('asks the provider with PKCE, a state and a nonce, new ones each time', async () => {
  await connect({ audience: 'https://headgate.example' });
  const asked = await Promise.all(
    [1, 2].map(() => handBrowser().follow(`${server.url}/session/sso`, isAtProvider)),
  );
  const [one, other] = asked.map(url => new URL(url).searchParams);
  expect(Object.fromEntries(one ?? [])).toMatchObject({
    response_type: 'code',
    client_id: CLIENT.client_id,
    redirect_uri: `${server.url}/session/callback`,
    code_challenge_method: 'S256',
    audience: 'https://headgate.example',
  });
  for (const name of ['state', 'nonce', 'code_challenge']) {
    expect(one?.get(name)).toMatch(/^[\w-]{43}$/);
    expect(one?.get(name)).not.toBe(other?.get(name));
  }
});

it('takes an answer once: a replayed one is refused, with its cookie as well', async () => {
  await connect();
  const browser = handBrowser();
  const callback = await comeBack(browser, 'ann');
  const before = new Map(browser.cookies);
  expect(await arrive(browser, callback)).toBe('/');
  expect(await arrive(browser, callback)).toBe('/?sso=expired');
  const replaying = handBrowser();
  for (const [name, value] of before) replaying.cookies.set(name, value);
  expect(await arrive(replaying, callback)).toBe('/?sso=expired');
  expect(await session(replaying)).toMatchObject({ signedIn: false });
});

it('takes an answer only from the browser that has asked', async () => {
  await connect();
  const [mine, another] = [handBrowser(), handBrowser()];
  const callback = await comeBack(mine, 'ann');
  expect(await arrive(another, callback)).toBe('/?sso=expired');
  await another.follow(`${server.url}/session/sso`, isAtProvider);
  expect(await arrive(another, callback)).toBe('/?sso=expired');
  expect(await arrive(handBrowser(), `${server.url}/session/callback`)).toBe('/?sso=expired');
  expect(await arrive(mine, callback)).toBe('/');
});

it('does not go on with a cookie that was not sealed here', async () => {
  await connect();
  const browser = handBrowser();
  const callback = await comeBack(browser, 'ann');
  const sealed = browser.cookies.get('sso') ?? '';
  const middle = sealed.length >> 1;
  const other = sealed[middle] === 'A' ? 'B' : 'A';
  browser.cookies.set('sso', `${sealed.slice(0, middle)}${other}${sealed.slice(middle + 1)}`);
  expect(await arrive(browser, callback)).toBe('/?sso=expired');
});

it('says so when the provider refuses', async () => {
  await connect();
  const browser = handBrowser();
  const asked = new URL(await browser.follow(`${server.url}/session/sso`, isAtProvider));
  const answer = new URLSearchParams({
    error: 'access_denied',
    state: asked.searchParams.get('state') ?? '',
    iss: provider.issuer,
  });
  expect(await arrive(browser, `${server.url}/session/callback?${answer}`)).toBe('/?sso=denied');
});

it('refuses an answer that names another issuer', async () => {
  await connect();
  const browser = handBrowser();
  const callback = new URL(await comeBack(browser, 'ann'));
  callback.searchParams.set('iss', 'https://evil.example');
  expect(await arrive(browser, callback.href)).toBe('/?sso=invalid');
});

it('is in the audit, whether somebody comes in or not', async () => {
  await connect();
  provider.users.set('ann', { groups: ['readers'] });
  await signIn('ann');
  await arrive(handBrowser(), `${server.url}/session/callback?state=s`);
  // Nobody who is refused waits for the audit.
  await expect
    .poll(async () => JSON.parse((await server.call('GET', '/api/v1/audit')).text).items)
    .toEqual(
      expect.arrayContaining([
        expect.objectContaining({ action: 'auth.sso', actor: 'ann', result: 'ok' }),
        expect.objectContaining({ action: 'auth.sso', actor: '', result: 'refused', reason: 'expired' }),
        expect.objectContaining({ action: 'users.create', actor: 'identity provider' }),
      ]),
    );
});

it('says in the log why a code was not taken', async () => {
  await connect({ client_secret: 'another one' });
  const browser = handBrowser();
  expect(await arrive(browser, await comeBack(browser, 'ann'))).toBe('/?sso=invalid');
  expect(server.log()).toContain("the provider answered 'invalid_client'");
  expect(server.log()).not.toContain('another one');
});

it('keeps the role of somebody of whom no groups are told, and warns', async () => {
  await connect();
  provider.users.set('ann', { groups: ['admins'] });
  await signIn('ann');
  provider.users.delete('ann');
  expect(await session(await signIn('ann'))).toMatchObject({ user: { role: 'admin' } });
  expect(server.log()).toContain('the identity provider sent no groups of a user');
  provider.users.set('ann', { groups: [] });
  expect(await session(await signIn('ann'))).toMatchObject({ user: { role: 'user' } });
});

it('another role ends the sessions with the one before', async () => {
  await connect();
  provider.users.set('ann', { groups: ['admins'] });
  const before = await signIn('ann');
  provider.users.set('ann', { groups: ['readers'] });
  await signIn('ann');
  expect(await session(before)).toMatchObject({ signedIn: false });
});

it('strict refuses whoever has no group that counts, and adds nobody', async () => {
  await connect({ strict: true });
  for (const groups of [['staff'], [], undefined]) {
    provider.users.set('ann', { groups });
    const browser = handBrowser();
    expect(await arrive(browser, await comeBack(browser, 'ann'))).toBe('/?sso=not-allowed');
    expect(await session(browser)).toMatchObject({ signedIn: false });
  }
  provider.users.set('ann', { groups: ['readers'] });
  await signIn('ann');
});

it('signs out here at once and leads to the sign-out of the provider', async () => {
  await connect();
  const browser = await signIn('ann');
  const { csrfToken } = await session(browser);
  const headers = { 'sec-fetch-site': 'same-origin', 'x-csrf-token': csrfToken };
  const answer = await bodyOf(browser.ask(`${server.url}/session`, { method: 'DELETE', headers }));
  expect(await session(browser)).toMatchObject({ signedIn: false });
  const url = new URL(answer.logoutUrl);
  expect(url.href).toContain(`${provider.issuer}/session/end?`);
  expect(url.searchParams.get('id_token_hint')).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+$/);
  const isHere = (at: string): boolean => at.startsWith(`${server.url}/`);
  expect(await browser.follow(url.href, isHere, { logout: 'yes' })).toBe(`${server.url}/`);
});

it('runs without its provider: the page says so, passwords go on, and signing out works', async () => {
  await connect();
  const browser = await signIn('ann');
  const { csrfToken } = await session(browser);
  await provider.close();
  // Other settings are another provider, of which nothing is known yet.
  await connect({ name: 'Corp again' });
  await expect.poll(() => server.log()).toContain('the identity provider cannot be used');
  expect(await arrive(handBrowser(), `${server.url}/session/sso`)).toBe('/?sso=unreachable');
  const headers = { 'sec-fetch-site': 'same-origin', 'x-csrf-token': csrfToken };
  const answer = await bodyOf(browser.ask(`${server.url}/session`, { method: 'DELETE', headers }));
  expect(answer).toEqual({ signedIn: false, localLogin: true, sso: { name: 'Corp again' } });
  expect((await server.call('GET', '/api/v1/auth/me')).status).toBe(200);
});

it('has nothing to do with a provider that calls itself by another name', async () => {
  await connect({ issuer: provider.issuer.replace('127.0.0.1', 'localhost') });
  expect(await arrive(handBrowser(), `${server.url}/session/sso`)).toBe('/?sso=invalid');
  expect(server.log()).toContain('issuer');
});

it('says that there is no provider', async () => {
  expect(await arrive(handBrowser(), `${server.url}/session/sso`)).toBe('/?sso=off');
  expect(await arrive(handBrowser(), `${server.url}/session/callback?code=c&state=s`)).toBe('/?sso=off');
  expect(await session(handBrowser())).toMatchObject({ sso: null });
});

it('holds up an address from which the provider is asked in vain again and again, and not for made-up answers', async () => {
  await connect();
  const limit = JSON.stringify({ api: { loginRateLimit: '2/hour' } });
  await server.call('PATCH', '/api/v1/system/settings/conf', {
    headers: [['authorization', server.token], JSON_BODY],
    body: limit,
  });
  const callback = `${server.url}/session/callback?code=c&state=s`;
  for (let round = 0; round < 4; round++) expect(await arrive(handBrowser(), callback)).toBe('/?sso=expired');
  await signIn('ann');
  const withWrongCode = async (): Promise<string | null> => {
    const browser = handBrowser();
    const answer = new URL(await comeBack(browser, 'ann'));
    answer.searchParams.set('code', 'wrong');
    return arrive(browser, answer.href);
  };
  for (let round = 0; round < 2; round++) expect(await withWrongCode()).not.toBe('/?sso=limited');
  expect(await withWrongCode()).toBe('/?sso=limited');
  expect((await server.call('GET', '/api/v1/auth/me')).status).toBe(200);
});

it('shows the secret of the client to nobody, and hands it to no other provider', async () => {
  await connect();
  const read = await server.call('GET', '/api/v1/system/settings/conf');
  expect(read.text).not.toContain(CLIENT.client_secret);
  expect(JSON.parse(read.text).items[0].auth.openid).toMatchObject({ client_secret: '********' });
  const masked = { issuer: 'https://evil.example', client_secret: '********' };
  expect(await connectProvider(server, provider, { openid: masked })).toEqual({
    status: 422,
    code: 'unprocessable',
  });
  expect(
    await connectProvider(server, provider, { openid: { ...masked, issuer: provider.issuer } }),
  ).toMatchObject({
    status: 200,
  });
  await signIn('ann');
});
