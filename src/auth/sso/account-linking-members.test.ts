import { afterEach, beforeEach, expect, test } from 'vitest';
import { openTenants, type Tenants } from '../../../test/helpers/tenants.ts';
import { silentLogger } from '../../lib/logger.ts';
import type { OrganizationActor } from '../actor.ts';
import { createOrganizationAudits } from '../audit.ts';
import { authSchema } from '../settings.ts';
import { newUserRow } from '../users/user.ts';
import { createMemberLinking } from './account-linking.ts';

const ISSUER = 'https://idp.example';
const OWNER: OrganizationActor = {
  kind: 'member',
  id: 'u',
  name: 'owner@acme.example',
  organization: 'acme',
  role: 'owner',
};
const BETA = { ...OWNER, organization: 'beta' };
const ANN = 'ann@acme.example';

let tenants: Tenants;
let audits: ReturnType<typeof createOrganizationAudits>;
beforeEach(async () => {
  tenants = await openTenants();
  audits = createOrganizationAudits({ ...tenants, logger: silentLogger });
});
afterEach(async () => {
  await audits.stop();
  await tenants.close();
});

async function add(email: string, owner = OWNER): Promise<string> {
  const roles = { organizationRole: 'user', workspaces: [] } as const;
  return (await tenants.members.add(owner, email, roles)).member.userId;
}

/** How often every process was waited for. */
const logged: object[] = [];
const logger = { ...silentLogger, warn: (fields: object) => void logged.push(fields) };
let propagations: number;
beforeEach(() => {
  propagations = 0;
});

function accounts() {
  const feed = {
    async waitForPropagation() {
      propagations += 1;
    },
  };
  return createMemberLinking({ ...tenants, feed, auditOf: audits.forOrganization, logger });
}

function settings() {
  const { openid } = authSchema.parse({ openid: { issuer: ISSUER, client_id: 'a' } });
  if (openid === undefined) throw new Error('the settings have no provider');
  return openid;
}

const admit = (subject: string, claims: object = { email: ANN }, issuer = ISSUER) =>
  accounts().resolveUser(
    { issuer, subject, claims: { email_verified: true, ...claims }, address: '192.0.2.1', requestId: 'r' },
    settings(),
  );

const refused = (reason: string) => ({ name: 'SignInRefused', reason });

test.each([
  ['in capitals', 'Ann@ACME.Example', ANN],
  ['with letters beyond ASCII', 'A\u0308NN@acme.example', 'änn@acme.example'],
])('a member is found by an address %s', async (_how, sent, stored) => {
  const id = await add(stored);
  expect(await admit('s-1', { email: sent })).toMatchObject({ id, issuer: ISSUER, subject: 's-1' });
});

test.each([
  ['a Kelvin sign for a k', '\u212arl@acme.example'],
  ['a dotted capital for an i', '\u0130rl@acme.example'],
  ['what is no address', 'ann'],
  ['what garbles a log', 'ann@acme.example\u0000'],
])('nobody is found by %s', async (_what, email) => {
  for (const member of ['krl@acme.example', 'i\u0307rl@acme.example', ANN]) await add(member);
  await expect(admit('s-1', { email })).rejects.toMatchObject(refused('no-member'));
});

test.each([[true], ['true']])('a provider vouches for an address by %j', async verified => {
  const id = await add(ANN);
  expect(await admit('s-1', { email: ANN, email_verified: verified })).toMatchObject({ id });
});

test.each([[false], ['false'], [1], ['yes'], [null], [undefined]])(
  'a provider does not vouch for an address by %j',
  async verified => {
    await add(ANN);
    await expect(admit('s-1', { email: ANN, email_verified: verified })).rejects.toMatchObject(
      refused('unverified'),
    );
  },
);

test('what came of somebody whose address nobody vouches for is logged by the names of the claims', async () => {
  logged.length = 0;
  const claims = { email: undefined, email_verified: 1, given_name: 'Ann', ['x'.repeat(300)]: 'long' };
  await expect(admit('s-1', claims)).rejects.toMatchObject(refused('unverified'));
  expect(logged).toEqual([
    expect.objectContaining({
      reason: 'unverified',
      claims: ['email_verified', 'email', 'given_name', 'x'.repeat(100)],
      email: 'absent',
      emailVerified: 'a number',
    }),
  ]);
  expect(JSON.stringify(logged)).not.toContain('Ann');
});

test('a user of the installation itself is no member, by whatever is known of them', async () => {
  const former = newUserRow({
    ...{ id: 'u-1', username: 'eve@acme.example', password: '', role: 'admin', created_at: 0, version: 1 },
    ...{ issuer: ISSUER, subject: 's-1' },
  });
  await tenants.storage.transaction(tx => tx.addUser(former));
  const unknown = { email: 'eve@acme.example' };
  await expect(admit('s-1', unknown)).rejects.toMatchObject(refused('no-member'));
  await expect(admit('s-2', unknown)).rejects.toMatchObject(refused('no-member'));
  const id = await add(ANN);
  expect(await admit('s-1')).toMatchObject({ id });
});

test('a verified address links the accounts that organizations have of it, and those added later', async () => {
  const { users } = tenants.storage;
  const ours = await add(ANN);
  const theirs = await add(ANN, BETA);
  const bound = { issuer: ISSUER, subject: 's-1', password: '', force_password_change: 0 };
  expect(await admit('s-1')).toMatchObject({ id: ours, ...bound });
  expect(await users.byId(theirs)).toMatchObject(bound);
  expect(propagations).toBe(1);

  await tenants.members.remove({ ...BETA, id: 'owner' }, theirs);
  const back = await add(ANN, BETA);
  await admit('s-1', { email: ANN, email_verified: false });
  expect(await users.byId(back)).toMatchObject({ issuer: null });
  await admit('s-1');
  expect(await users.byId(back)).toMatchObject(bound);
});

test('an organization has one account of a person, whatever addresses they have had', async () => {
  await add(ANN);
  await admit('s-1');
  const married = await add('ann.married@acme.example');
  expect(await admit('s-1', { email: 'ann.married@acme.example' })).toMatchObject({ username: ANN });
  expect(await tenants.storage.users.byId(married)).toMatchObject({ issuer: null });
});

test('of two first sign-ins at one moment both are the member, and of two accounts one', async () => {
  const id = await add(ANN);
  const [one, other] = await Promise.all([admit('s-1'), admit('s-1')]);
  expect([one.id, other.id]).toEqual([id, id]);
  const bob = { email: 'bob@acme.example' };
  await add(bob.email);
  const ends = await Promise.allSettled([admit('s-2', bob), admit('s-3', bob)]);
  expect(ends.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
});

test('the provider of other settings binds members anew, by their addresses', async () => {
  const id = await add(ANN);
  await admit('s-1');
  expect(await admit('s-9', { email: ANN }, 'https://other.example')).toMatchObject({ id, subject: 's-9' });
});

test('an owner or admin of any organization shows that passwords may end', async () => {
  await add(ANN);
  expect(await accounts().isAdmin(await admit('s-1'))).toBe(false);
  const owner = 'owner@beta.example';
  const first = await add(owner);
  const signedIn = await admit('s-2', { email: owner });
  expect(signedIn).toMatchObject({ username: owner, organization: 'beta' });
  expect(await accounts().isAdmin(signedIn)).toBe(true);
  const here = await tenants.storage.users.byId(first);
  if (here === undefined) throw new Error('the account is not there');
  expect(await accounts().isAdmin(here)).toBe(true);
});

test('a password from before ends once every process knows of it, at whichever sign-in and whoever chose it', async () => {
  const id = await add(ANN);
  const before = await tenants.storage.users.byId(id);
  const first = await admit('s-1');
  expect(first.version).toBeGreaterThan(before?.version ?? 0);
  expect(first).toMatchObject({ force_password_change: 0, initial_password: before?.password });
  expect(first.password).not.toBe(before?.password);
  expect(propagations).toBe(1);
  expect(await admit('s-1')).toEqual(first);
  const reset = { ...first, password: 'another', force_password_change: 1 };
  await tenants.storage.transaction(tx => tx.updateUser(reset));
  expect((await admit('s-1')).password).not.toBe('another');
  expect(propagations).toBe(2);

  const own = { ...reset, password: 'own', force_password_change: 0, issuer: null, subject: null };
  await tenants.storage.transaction(tx => tx.updateUser(own));
  const last = await admit('s-1');
  expect(last).toMatchObject({ password: '', subject: 's-1' });
  expect(last.version).toBeGreaterThan(own.version);
  expect(propagations).toBe(3);
});
