import { expect, it, onTestFinished } from 'vitest';
import { type HandBrowser, handBrowser } from '../helpers/browser-by-hand.ts';
import { ask, type HostedCall, hostedInstallation } from '../helpers/hosted.ts';
import { CLIENT, type IdentityProvider, startIdentityProvider } from '../helpers/identity-provider.ts';
import { createPostgresDatabase } from '../helpers/postgres.ts';
import { until } from '../helpers/until.ts';

const ANN = { email: 'ann@acme.example', email_verified: true };
const OWN = { 'sec-fetch-site': 'same-origin' };

/** A hosted installation with the organization acme of Ann, whose people a provider knows. */
async function withProvider(database?: string) {
  let provider: IdentityProvider | undefined;
  const installed = await hostedInstallation(database, {
    auth: async base => {
      provider = await startIdentityProvider({ base });
      const { client_id } = CLIENT;
      const { issuer } = provider;
      return {
        type: 'openid',
        openid: { name: 'Corp', issuer, client_id, client_secret: '${secret:sso}' },
      };
    },
  });
  if (provider === undefined) throw new Error('there is no provider');
  const { users, close } = provider;
  onTestFinished(close);
  const { port, authUrl, cli, cliWith } = installed;
  await cliWith(CLIENT.client_secret, 'secrets', 'set', 'sso');
  await cli('org', 'create', 'acme', '--owner', ANN.email, '--workspace', 'main');
  const host = `main-acme.localhost:${port}`;
  const isCallback = (url: string): boolean => url.startsWith(`${authUrl}/session/callback`);
  const isElsewhere = (url: string): boolean => !isCallback(url) && url.startsWith(authUrl);
  return {
    ...installed,
    host,
    users,
    at: (path: string, call: HostedCall = {}) => ask(`http://127.0.0.1:${port}${path}`, { host, ...call }),
    /** Signs in with the provider, as whom it calls `login`; answers where the login service leads then. */
    async come(browser: HandBrowser, login: string, page = '/sign-in'): Promise<string> {
      const begin = `${authUrl}/session/sso?returnTo=${encodeURIComponent(page)}`;
      const callback = await browser.follow(begin, isCallback, { login, password: 'any' });
      return browser.follow(callback, isElsewhere);
    },
  };
}

const bodyOf = async (answer: Promise<Response>) => JSON.parse(await (await answer).text());

/** What the page of the login service asks for whoever is signed in there. */
async function asked(authUrl: string, browser: HandBrowser, path: string, body: object = {}) {
  const { csrfToken } = await bodyOf(browser.ask(`${authUrl}/session`));
  const headers = { ...OWN, 'x-csrf-token': csrfToken, 'content-type': 'application/json' };
  const sent = { method: 'POST', headers, body: JSON.stringify(body) };
  return bodyOf(browser.ask(`${authUrl}/session${path}`, sent));
}

const cookiesOf = ({ headers }: Awaited<ReturnType<typeof ask>>): string =>
  [headers['set-cookie'] ?? []]
    .flat()
    .filter(line => !/max-age=0/i.test(line))
    .map(line => line.split(';')[0])
    .join('; ');

it('leads a member from the page of a workspace to the provider and back to it, signed in', async () => {
  const { serve, at, authUrl, come, host, users } = await withProvider();
  const server = await serve();
  users.set('s-1', ANN);
  const away = await at('/session/sso?returnTo=%2F%23%2Finputs');
  const page = new URL(String(away.headers.location));
  const browser = handBrowser();
  expect(await bodyOf(browser.ask(`${authUrl}/session`))).toMatchObject({ sso: { name: 'Corp' } });
  expect(await come(browser, 's-1', page.pathname + page.search)).toBe(page.href);
  const way = { workspace: page.searchParams.get('workspace'), state: page.searchParams.get('state') };
  const { location } = await asked(authUrl, browser, '/hand-over', way);
  const back = new URL(location);
  expect(back.host).toBe(host);
  const arrived = await at(back.pathname + back.search, { headers: { cookie: cookiesOf(away) } });
  expect(arrived.headers.location).toBe('/#/inputs');

  const headers = { cookie: cookiesOf(arrived) };
  const { body: session } = await at('/session', { headers });
  expect(session).toMatchObject({ signedIn: true, user: { username: ANN.email } });
  const issued = await at('/session/token', {
    method: 'POST',
    body: {},
    headers: { ...OWN, ...headers, 'x-csrf-token': session.csrfToken },
  });
  const token = issued.body.token.replace('Bearer ', '');
  const me = await at('/api/v1/auth/me', { token });
  expect(me.body.items[0]).toMatchObject({ kind: 'member', name: ANN.email, role: 'admin' });
  expect(server.stdout() + server.stderr()).not.toContain(CLIENT.client_secret);
});

it('knows a member again in every process, and lets nobody else in', async () => {
  const { url, remove } = await createPostgresDatabase();
  onTestFinished(remove);
  const { serve, serveLogin, at, authUrl, come, users } = await withProvider(url);
  const login = await serveLogin();
  await serve();
  users
    .set('s-1', ANN)
    .set('s-2', ANN)
    .set('s-3', { ...ANN, email_verified: false });
  const roleOf = async (browser: HandBrowser) => {
    const { token } = await asked(authUrl, browser, '/token');
    return (await at('/api/v1/auth/me', { token: token.replace('Bearer ', '') })).body.items[0];
  };
  expect(await come(handBrowser(), 's-3')).toBe(`${authUrl}/sign-in?sso=unverified`);
  const first = handBrowser();
  expect(await come(first, 's-1')).toBe(`${authUrl}/sign-in`);
  const known = await roleOf(first);
  expect(known).toMatchObject({ kind: 'member', name: ANN.email, role: 'admin' });

  await login.kill();
  await serveLogin();
  users.set('s-1', { email: 'ann.married@acme.example' });
  const again = handBrowser();
  expect(await come(again, 's-1')).toBe(`${authUrl}/sign-in`);
  expect(await roleOf(again)).toMatchObject({ id: known.id, name: ANN.email });
  users.set('s-4', { email_verified: true });
  expect(await come(handBrowser(), 's-2')).toBe(`${authUrl}/sign-in?sso=other-account`);
  expect(await come(handBrowser(), 's-4')).toBe(`${authUrl}/sign-in?sso=no-member`);
});

it('says at the start which secret is missing, and that the provider does not answer', async () => {
  const openid = { issuer: 'http://127.0.0.1:9', client_id: 'a', client_secret: '${secret:sso}' };
  const installed = await hostedInstallation(undefined, { auth: async () => ({ type: 'openid', openid }) });
  await expect(installed.serveLogin()).rejects.toThrow('is no stored secret');
  await installed.cliWith(CLIENT.client_secret, 'secrets', 'set', 'sso');
  for (const start of [installed.serveLogin, installed.serve]) {
    const served = await start();
    await until(() => served.stderr().includes('the identity provider cannot be used'));
    await served.kill();
  }
});
