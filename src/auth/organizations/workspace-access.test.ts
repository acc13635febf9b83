import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AUDIENCE, ISSUER, OWNER, openTenants, type Tenants } from '../../../test/helpers/tenants.ts';
import { authorise } from '../actor.ts';
import { createAccessTokens } from '../tokens/access-tokens.ts';
import { createSessionTokens } from '../tokens/session-tokens.ts';
import { formatScope } from './roles.ts';

let tenants: Tenants;
beforeAll(async () => {
  tenants = await openTenants();
});
afterAll(() => tenants.close());

const HERE = '192.0.2.7';
const refused = { code: 'unauthenticated' };
const EDITOR = [{ workspace: 'main', role: 'editor' }] as const;

type Asked = Partial<Parameters<Tenants['tokens']['issue']>[0]>;

/** A token of the credential as it is now. */
async function tokenOf(clientId: string, asked: Asked = {}, tokens = tenants.tokens): Promise<string> {
  const row = await tenants.storage.credentials.get(clientId);
  const token = await tokens.issue({
    kind: 'credential',
    subject: clientId,
    version: row?.version ?? 0,
    audience: AUDIENCE,
    organization: 'acme',
    role: row?.organization_role ?? 'user',
    scope: '',
    isNarrow: false,
    ttlSeconds: 86_400,
    ...asked,
  });
  return `Bearer ${token}`;
}
const authenticate = (token: string | undefined, address: string | undefined = HERE) =>
  tenants.identity.authenticate(token, address);

describe('the bearer of an access token', () => {
  it('is who the credential is now, in the workspaces where it has a role', async () => {
    const { clientId, name } = await tenants.credential({ organizationRole: 'user', workspaces: EDITOR });
    const token = await tokenOf(clientId);
    const principal = await authenticate(token);
    expect(principal).toMatchObject({ kind: 'credential', id: clientId, organization: 'acme', role: 'user' });
    expect(principal.actorIn('main-acme')).toMatchObject({ kind: 'credential', name, role: 'editor' });
    for (const workspace of ['test-acme', 'main-beta', 'default', 'prod-acme'])
      expect(principal.actorIn(workspace)).toBeUndefined();
    expect(await authenticate(`Bearer ${token}`)).toMatchObject({ id: clientId });
  });

  it('is an admin in every workspace of the organization as its admin or owner, and in no other', async () => {
    const { clientId } = await tenants.credential({ organizationRole: 'owner' });
    const principal = await authenticate(await tokenOf(clientId));
    expect(principal.role).toBe('owner');
    expect(principal.actorIn('test-acme')?.role).toBe('admin');
    expect(principal.actorIn('main-beta')).toBeUndefined();
  });

  it('is Admin whatever the credential says, where there is no role selector', async () => {
    const { clientId } = await tenants.credential({ organizationRole: 'user', workspaces: EDITOR });
    const token = await tokenOf(clientId);
    const select = (on: number) =>
      tenants.storage.transaction(async tx => {
        await tx.incrementUserChanges();
        const acme = await tx.organization('acme');
        if (acme !== undefined) await tx.updateOrganization({ ...acme, role_selector: on });
      });
    await select(0);
    const principal = await authenticate(token);
    expect([principal.role, principal.actorIn('test-acme')?.role]).toEqual(['admin', 'admin']);
    await select(1);
    expect((await authenticate(token)).actorIn('test-acme')).toBeUndefined();
  });

  it.each([
    ['disabled', (id: string) => tenants.credentials.update(OWNER, id, { enabled: false })],
    ['deleted', (id: string) => tenants.credentials.remove(OWNER, id)],
    [
      'given a secret that replaces the old one at once',
      (id: string) => tenants.credentials.rotate(OWNER, id, 0),
    ],
    [
      'lowered',
      (id: string) => tenants.credentials.update(OWNER, id, { organizationRole: 'user', workspaces: EDITOR }),
    ],
  ])('is nobody once the credential is %s, and enabling it again revives nothing', async (_, change) => {
    const { clientId } = await tenants.credential();
    const token = await tokenOf(clientId);
    await authenticate(token);
    await change(clientId);
    await expect(authenticate(token)).rejects.toMatchObject(refused);
    await tenants.credentials.update(OWNER, clientId, { enabled: true }).catch(() => {});
    await expect(authenticate(token)).rejects.toMatchObject(refused);
  });

  it('is nobody once the credential has expired, or the token', async () => {
    const { clientId } = await tenants.credential({ expiresAt: tenants.clock.now() + 1000 });
    const [token, short] = [await tokenOf(clientId), await tokenOf(clientId, { ttlSeconds: 1 })];
    await authenticate(token);
    await tenants.clock.advance(1000);
    await expect(authenticate(token)).rejects.toMatchObject(refused);
    await expect(authenticate(short)).rejects.toThrow('expired');
  });

  it('comes from where the credential may, and from nowhere when nobody knows', async () => {
    const { clientId } = await tenants.credential({ ipAllowlist: ['192.0.2.0/24', '2001:db8::/32'] });
    const token = await tokenOf(clientId);
    for (const address of [HERE, '::ffff:192.0.2.9', '2001:db8::1']) await authenticate(token, address);
    for (const address of ['198.51.100.1', '2001:db9::1', '', 'nowhere'])
      await expect(authenticate(token, address), address).rejects.toMatchObject(refused);
    await expect(tenants.identity.authenticate(token, undefined)).rejects.toMatchObject(refused);
  });

  it('is nobody once the token was revoked', async () => {
    const { clientId } = await tenants.credential();
    const token = await tokenOf(clientId);
    const { token: shown } = await authenticate(token);
    await tenants.storage.transaction(async tx => {
      await tx.incrementUserChanges();
      await tx.revokeToken({ id: shown.id, expires_at: shown.expiresAt }, tenants.clock.now());
    });
    await expect(authenticate(token)).rejects.toMatchObject(refused);
    await authenticate(await tokenOf(clientId));
  });

  it('may do no more than the scope of the token', async () => {
    const { clientId } = await tenants.credential();
    const scope = formatScope(new Set(['read:inputs']));
    const actor = (await authenticate(await tokenOf(clientId, { scope, isNarrow: true }))).actorIn(
      'main-acme',
    );
    if (actor === undefined) throw new Error('no access');
    authorise(actor, 'read:inputs');
    expect(() => authorise(actor, 'update:inputs')).toThrow('asked for without');
  });

  it('that is of a member is who the user is there, for as long as that is so', async () => {
    const user = await tenants.storage.users.byName('owner@acme.example', 'acme');
    if (user === undefined) throw new Error('no owner');
    const issue = (version: number, organization: string) =>
      tokenOf(user.id, { kind: 'member', version, organization });
    await expect(issue(user.version, 'acme').then(authenticate)).rejects.toMatchObject(refused);
    const own = { ...user, force_password_change: 0 };
    await tenants.storage.transaction(async tx => {
      await tx.incrementUserChanges();
      await tx.updateUser(own);
    });
    const token = await issue(user.version, 'acme');
    expect(await authenticate(token)).toMatchObject({ kind: 'member', id: user.id, role: 'owner' });
    for (const other of [await issue(user.version, 'beta'), await issue(user.version + 1, 'acme')])
      await expect(authenticate(other)).rejects.toMatchObject(refused);
    await tenants.storage.transaction(async tx => {
      await tx.incrementUserChanges();
      await tx.removeMember('acme', user.id);
    });
    await expect(authenticate(token)).rejects.toMatchObject(refused);
  });

  it.each([
    ['of another audience', { audience: 'https://api.example' }],
    ['of another organization', { organization: 'beta' }],
    ['of an organization that is not there', { organization: 'gone' }],
    ['of another version', { version: 999_999 }],
  ])('is nobody with a token %s', async (_, asked) => {
    const { clientId } = await tenants.credential();
    await expect(authenticate(await tokenOf(clientId, asked))).rejects.toMatchObject(refused);
  });

  it('is nobody with a token of another issuer, or one of another kind, and the reverse', async () => {
    const { clientId } = await tenants.credential();
    const made = { keys: tenants.keys.tokenKeys, clock: tenants.clock, ids: tenants.ids };
    const elsewhere = createAccessTokens({ ...made, issuer: `${ISSUER}/`, audience: [AUDIENCE] });
    await expect(authenticate(await tokenOf(clientId, {}, elsewhere))).rejects.toMatchObject(refused);
    const sessions = createSessionTokens(made);
    await expect(authenticate(`Bearer ${await sessions.issue(clientId, 60, 1)}`)).rejects.toMatchObject(
      refused,
    );
    const access = (await tokenOf(clientId)).replace('Bearer ', '');
    expect(await sessions.verify(access)).toMatchObject({ kind: 'refused' });
  });

  it.each([undefined, '', 'Bearer', 'Basic YTpi', 'Bearer Bearer Bearer abc', 'Bearer a.b.c.d.e.f.g.h.i'])(
    'is nobody with the header %s',
    async header => {
      await expect(authenticate(header)).rejects.toMatchObject(refused);
    },
  );
});
