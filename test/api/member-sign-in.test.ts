import { afterEach, beforeEach, expect, it } from 'vitest';
import type { LoginService } from '../../src/app/deployments/login-service.ts';
import type { OrganizationActor } from '../../src/auth/actor.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { createHttpClient, type HttpClient } from '../../src/lib/http/client.ts';
import { type HandBrowser, handBrowser } from '../helpers/browser-by-hand.ts';
import { freePort } from '../helpers/hosted.ts';
import { CLIENT, type IdentityProvider, startIdentityProvider } from '../helpers/identity-provider.ts';
import { openTenants, type Tenants } from '../helpers/tenants.ts';
import { until } from '../helpers/until.ts';

const ANN = { email: 'ann@acme.example', email_verified: true };
const OWNER: OrganizationActor = {
  kind: 'member',
  id: 'u',
  name: 'owner@acme.example',
  organization: 'acme',
  role: 'owner',
};
const PASSWORD = 'forty-two purple elephants';

let tenants: Tenants;
let service: LoginService;
let provider: IdentityProvider;
let http: HttpClient;
/** Of the member of acme. */
let ann: string;
let oneTime: string;

beforeEach(() => start());
afterEach(() => stop());

async function stop(): Promise<void> {
  await service.stop();
  await tenants.close();
  await http.close();
  await provider.close();
}

async function start(auth: object = {}): Promise<void> {
  const port = await freePort();
  const authUrl = `http://127.0.0.1:${port}`;
  provider = await startIdentityProvider({ base: authUrl });
  http = createHttpClient({ privateAddresses: 'allow', allowedAddresses: [], clock: systemClock });
  const openid = { name: 'Corp', issuer: provider.issuer, ...CLIENT };
  tenants = await openTenants({
    ...{ authUrl, http, auth: { type: 'openid', openid, ...auth } },
    api: { loginRateLimit: '100/second' },
  });
  service = await tenants.serve(port);
  const { member, initialPassword } = await tenants.members.add(OWNER, ANN.email, {
    organizationRole: 'admin',
    workspaces: [],
  });
  ann = member.userId;
  oneTime = initialPassword.reveal();
}

/** What a program is answered. */
async function withPassword(username: string, password: string, newPassword?: string, organization?: string) {
  const answer = await fetch(`${service.url}/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ username, password, newPassword, organization }),
  });
  return { status: answer.status, body: JSON.parse(await answer.text()) };
}

const choosePassword = () => withPassword(ANN.email, oneTime, PASSWORD);

const isCallback = (url: string): boolean => url.startsWith(`${service.url}/session/callback`);

/** Signs in at the provider, as whom it calls `login`; answers where the login service leads then. */
async function come(login: string, browser = handBrowser(), path = '/sign-in'): Promise<string> {
  const begin = `${service.url}/session/sso?returnTo=${encodeURIComponent(path)}`;
  const callback = await browser.follow(begin, isCallback, { login, password: 'any' });
  const answer = await browser.ask(callback);
  expect(answer.status).toBe(303);
  return answer.headers.get('location') ?? '';
}

const bodyOf = async (answer: Promise<Response>) => JSON.parse(await (await answer).text());
const session = (browser: HandBrowser) => bodyOf(browser.ask(`${service.url}/session`));

async function tokenOf(browser: HandBrowser): Promise<string> {
  const { csrfToken } = await session(browser);
  const headers = { 'sec-fetch-site': 'same-origin', 'x-csrf-token': csrfToken };
  const { token } = await bodyOf(browser.ask(`${service.url}/session/token`, { method: 'POST', headers }));
  return token;
}

/** How the management plane of an organization answers whoever has come. */
async function membersAsked(browser: HandBrowser, organization = 'acme'): Promise<number> {
  const headers = { authorization: await tokenOf(browser) };
  return (await fetch(`${service.url}/v1/organizations/${organization}/members`, { headers })).status;
}

/** What the code holds with which a browser goes on to a workspace; the status of a refusal. */
async function codeFor(browser: HandBrowser, workspace: string) {
  const { csrfToken } = await session(browser);
  const answer = await browser.ask(`${service.url}/session/hand-over`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'sec-fetch-site': 'same-origin',
      'x-csrf-token': csrfToken,
    },
    body: JSON.stringify({ workspace, state: 'a'.repeat(43) }),
  });
  if (answer.status !== 200) return answer.status;
  const { location } = JSON.parse(await answer.text());
  return JSON.parse(tenants.unseal(new URL(location).searchParams.get('code') ?? ''));
}

const users = () => tenants.storage.users.count();

async function audited(key: string) {
  const { rows } = await tenants.storage.in(key).audit.list({}, { offset: 0, limit: 100 });
  return rows;
}

it('lets a member in by a verified address, bound for good, with the role of the membership alone', async () => {
  provider.users.set('s-1', { ...ANN, email: 'Ann@ACME.example', groups: ['admins'] });
  const browser = handBrowser();
  expect(await come('s-1', browser)).toBe('/sign-in');
  expect(await session(browser)).toMatchObject({
    signedIn: true,
    method: 'sso',
    user: { id: ann, username: 'ann@acme.example' },
    forcePasswordChange: false,
    sso: { name: 'Corp' },
  });
  expect(await membersAsked(browser)).toBe(200);
  const bound = async () => (await audited('@acme')).filter(({ action }) => action === 'members.bind');
  expect(await bound()).toMatchObject([
    { actor: ANN.email, target: ann, result: 'ok', reason: `${provider.issuer} s-1`, address: '127.0.0.1' },
  ]);
  expect(await audited('@beta')).toEqual([]);

  provider.users.set('s-1', { email: 'ann.married@acme.example' });
  const later = handBrowser();
  await come('s-1', later);
  expect((await session(later)).user.id).toBe(ann);
  expect((await session(browser)).signedIn).toBe(true);

  await tenants.members.setRoles(OWNER, ann, {
    organizationRole: 'user',
    workspaces: [{ workspace: 'main', role: 'reader' }],
  });
  const lowered = handBrowser();
  await come('s-1', lowered);
  expect(await membersAsked(lowered)).toBe(403);
  expect(await bound()).toHaveLength(1);
});

it.each([
  ['whose address is not verified', { ...ANN, email_verified: false }, 'unverified'],
  ['of whose address nothing is said', { email: ANN.email }, 'unverified'],
  ['who has no address', { email: undefined, email_verified: true }, 'unverified'],
  ['whose address is no member’s', { ...ANN, email: 'eve@acme.example' }, 'no-member'],
  ['whose address only looks like a member’s', { ...ANN, email: 'ann@acme.example\u212a' }, 'no-member'],
])('refuses somebody %s, keeps them on their way, and makes no user', async (_who, claims, reason) => {
  await tenants.members.add(OWNER, 'ann@acme.examplek', { organizationRole: 'admin', workspaces: [] });
  provider.users.set('s-1', claims);
  const before = await users();
  const browser = handBrowser();
  const page = '/sign-in?workspace=main-acme&state=abc';
  expect(await come('s-1', browser, page)).toBe(`${page}&sso=${reason}`);
  expect(await session(browser)).toMatchObject({ signedIn: false });
  expect(await users()).toBe(before);
  expect(await tenants.storage.users.byId(ann)).toMatchObject({ issuer: null, subject: null });
  await until(async () => (await audited('default')).length > 0, 'the entry');
  expect(await audited('default')).toMatchObject([{ action: 'auth.sso', result: 'refused', reason }]);
});

it('refuses another account with the address of a member who is bound, until the member is added anew', async () => {
  provider.users.set('s-1', ANN).set('s-2', ANN);
  await come('s-1');
  expect(await come('s-2')).toBe('/sign-in?sso=other-account');
  const refused = async () => (await audited('@acme')).filter(({ result }) => result === 'refused');
  await until(async () => (await refused()).length > 0, 'the entry');
  expect(await refused()).toMatchObject([
    { action: 'auth.sso', target: ann, reason: 'other-account', address: '127.0.0.1' },
  ]);
  expect(await come('s-1')).toBe('/sign-in');

  await tenants.members.remove(OWNER, ann);
  expect(await come('s-1')).toBe('/sign-in?sso=no-member');
  const roles = { organizationRole: 'admin', workspaces: [] } as const;
  const { member } = await tenants.members.add(OWNER, ANN.email, roles);
  const browser = handBrowser();
  expect(await come('s-2', browser)).toBe('/sign-in');
  expect((await session(browser)).user.id).toBe(member.userId);
  expect(await come('s-1')).toBe('/sign-in?sso=other-account');
});

it('gives no other password to a member who comes by the provider: it would open other organizations', async () => {
  const { member } = await tenants.members.add({ ...OWNER, organization: 'beta' }, ANN.email, {
    organizationRole: 'admin',
    workspaces: [],
  });
  const reset = await tenants.members.resetPassword(OWNER, ann);
  const opened = await withPassword(ANN.email, reset.initialPassword.reveal(), PASSWORD, 'acme');
  expect(opened.status).toBe(200);
  const asked = async (organization: string) =>
    (
      await fetch(`${service.url}/v1/organizations/${organization}/members`, {
        headers: { authorization: `Bearer ${opened.body.token}` },
      })
    ).status;
  expect([await asked('acme'), await asked('beta')]).toEqual([200, 404]);
  await tenants.members.resetPassword(OWNER, ann);
  expect(await asked('acme')).toBe(401);

  provider.users.set('s-1', ANN);
  await come('s-1');
  await expect(tenants.members.resetPassword(OWNER, ann)).rejects.toMatchObject({ code: 'conflict' });
  expect((await tenants.storage.users.byId(ann))?.password).toBe('');
  expect((await tenants.storage.users.byId(member.userId))?.password).toBe('');
});

it('signs a person in to each organization by the account there, bound to the same identity', async () => {
  const beta: OrganizationActor = { ...OWNER, organization: 'beta' };
  provider.users.set('s-1', ANN);
  const { member } = await tenants.members.add(beta, ANN.email, {
    organizationRole: 'admin',
    workspaces: [],
  });
  const browser = handBrowser();
  await come('s-1', browser);
  expect([await membersAsked(browser), await membersAsked(browser, 'beta')]).toEqual([200, 200]);
  expect(await codeFor(browser, 'main-beta')).toMatchObject({ userId: member.userId });
  expect(await codeFor(browser, 'main-acme')).toMatchObject({ userId: ann });

  await tenants.members.remove(beta, member.userId);
  expect([await membersAsked(browser), await membersAsked(browser, 'beta')]).toEqual([200, 404]);
  expect(await codeFor(browser, 'main-beta')).toBe(404);
});

it('tells apart accounts of one address by their passwords, or by the organization', async () => {
  const beta: OrganizationActor = { ...OWNER, organization: 'beta' };
  const roles = { organizationRole: 'admin', workspaces: [] } as const;
  const { initialPassword } = await tenants.members.add(beta, ANN.email, roles);
  const theirs = initialPassword.reveal();
  await choosePassword();
  expect(await withPassword(ANN.email, theirs, 'another purple elephant walks')).toMatchObject({
    status: 200,
  });
  const asked = async (organization: string, password: string) => {
    const { body } = await withPassword(ANN.email, password);
    const headers = { authorization: body.token };
    return (await fetch(`${service.url}/v1/organizations/${organization}/members`, { headers })).status;
  };
  expect(await asked('acme', PASSWORD)).toBe(200);
  expect(await asked('beta', PASSWORD)).toBe(404);
  expect(await asked('beta', 'another purple elephant walks')).toBe(200);
  expect((await withPassword(ANN.email, PASSWORD, undefined, 'beta')).status).toBe(401);
  expect((await withPassword(ANN.email, PASSWORD, undefined, 'acme')).status).toBe(200);
  for (const nowhere of ['', 'nobody', 'acme '])
    expect((await withPassword(ANN.email, PASSWORD, undefined, nowhere)).status).toBe(401);
});

it('refuses a member who is disabled, before and after they were bound', async () => {
  const setDisabled = (disabled: 0 | 1) =>
    tenants.storage.transaction(async tx => {
      const user = await tx.userById(ann);
      if (user !== undefined) await tx.updateUser({ ...user, disabled });
    });
  provider.users.set('s-1', ANN);
  await setDisabled(1);
  expect(await come('s-1')).toBe('/sign-in?sso=not-allowed');
  expect(await tenants.storage.users.byId(ann)).toMatchObject({ issuer: null });
  await setDisabled(0);
  await come('s-1');
  await setDisabled(1);
  expect(await come('s-1')).toBe('/sign-in?sso=not-allowed');
});

it('ends a one-time password that was never used, with the token it has given', async () => {
  const bob = { ...ANN, email: 'bob@acme.example' };
  const roles = { organizationRole: 'admin', workspaces: [] } as const;
  const { initialPassword } = await tenants.members.add(OWNER, bob.email, roles);
  const password = initialPassword.reveal();
  const first = await withPassword(bob.email, password);
  expect(first).toMatchObject({ status: 200, body: { forcePasswordChange: true } });
  const early = await fetch(`${service.url}/v1/organizations/acme/members`, {
    headers: { authorization: first.body.token },
  });
  expect([early.status, await early.text()]).toEqual([
    403,
    expect.stringMatching(/POST https?:\/\/\S+\/session with username, password and newPassword/),
  ]);
  provider.users.set('s-1', bob);
  const browser = handBrowser();
  await come('s-1', browser);
  expect(await membersAsked(browser)).toBe(200);
  expect((await withPassword(bob.email, password)).status).toBe(401);
  const headers = { authorization: first.body.token };
  const answer = await fetch(`${service.url}/v1/organizations/acme/members`, { headers });
  expect(answer.status).toBe(401);
});

it('ends a password that was chosen before the owner of the address came, whoever chose it', async () => {
  await choosePassword();
  provider.users.set('s-1', ANN);
  const before = await withPassword(ANN.email, PASSWORD);
  expect(before.status).toBe(200);
  await come('s-1');
  expect((await withPassword(ANN.email, PASSWORD)).status).toBe(401);
  const headers = { authorization: before.body.token };
  expect((await fetch(`${service.url}/v1/organizations/acme/members`, { headers })).status).toBe(401);
});

it('takes passwords until an owner or admin has come by the provider, where they are to end', async () => {
  await stop();
  await start({ fallback: false });
  await choosePassword();
  const roles = { organizationRole: 'user', workspaces: [] } as const;
  await tenants.members.add(OWNER, 'bob@acme.example', roles);
  provider.users.set('s-1', ANN).set('s-2', { ...ANN, email: 'bob@acme.example' });
  await come('s-2');
  expect((await withPassword(ANN.email, PASSWORD)).status).toBe(200);
  await come('s-1');
  expect(await withPassword(ANN.email, PASSWORD)).toMatchObject({
    status: 403,
    body: { code: 'local-login-disabled' },
  });
  expect(await session(handBrowser())).toMatchObject({ localLogin: false, sso: { name: 'Corp' } });
});
