import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ADMIN, OWNER, openTenants, type Tenants } from '../../../test/helpers/tenants.ts';
import { createCredentials } from './credentials.ts';

let tenants: Tenants;
beforeAll(async () => {
  tenants = await openTenants();
});
afterAll(() => tenants.close());

const BETA_OWNER = { ...OWNER, organization: 'beta' };
const EDITOR = [{ workspace: 'main', role: 'editor' }] as const;
const refusal = (code: string) => ({ code });
const DAY = 86_400_000;

describe('a credential', () => {
  it('is shown with its secret once, and is enabled without a description unless somebody says otherwise', async () => {
    const { credential, secret } = await tenants.credentials.create(OWNER, {
      name: 'ci',
      organizationRole: 'user',
      workspaces: EDITOR,
    });
    expect(credential).toMatchObject({
      name: 'ci',
      description: '',
      enabled: true,
      organizationRole: 'user',
      workspaces: EDITOR,
      createdBy: OWNER.name,
      lastUsedAt: null,
      expiresAt: null,
    });
    expect(credential.clientId).toMatch(/^[0-9A-Za-z]{32}$/);
    expect(secret.reveal()).toMatch(/^hgs_[0-9A-Za-z]{43}_[0-9A-Za-z]{6}$/);
    const known = await tenants.credentials.get(ADMIN, credential.clientId);
    expect(known).toEqual(credential);
    expect(
      JSON.stringify([known, await tenants.storage.credentials.secrets(credential.clientId)]),
    ).not.toContain(secret.reveal());
  });

  it.each(['owner', 'admin'] as const)('may be all but deleted and made an owner by an %s', async role => {
    const by = role === 'owner' ? OWNER : ADMIN;
    const { clientId } = await tenants.credential();
    expect(await tenants.credentials.update(by, clientId, { enabled: false })).toMatchObject({
      enabled: false,
    });
    const making = tenants.credentials.create(by, { name: `o-${role}`, organizationRole: 'owner' });
    const removing = () => tenants.credentials.remove(by, clientId);
    if (role === 'owner') {
      await making;
      expect(await removing()).toMatchObject({ clientId });
    } else {
      await expect(making).rejects.toMatchObject(refusal('forbidden'));
      await expect(removing()).rejects.toMatchObject(refusal('forbidden'));
    }
  });

  it('is changed in every process before that is answered, whether it lets in or out', async () => {
    let propagations = 0;
    const feed = {
      async waitForPropagation() {
        propagations += 1;
      },
    };
    const credentials = createCredentials({ ...tenants, feed });
    const { clientId } = await tenants.credential();
    await credentials.update(OWNER, clientId, { enabled: false });
    await credentials.update(OWNER, clientId, { enabled: true });
    await credentials.rotate(OWNER, clientId);
    await credentials.remove(OWNER, clientId);
    expect(propagations).toBe(4);
  });

  it('is nothing that somebody of the role user sees', async () => {
    const by = { ...OWNER, name: 'cid', role: 'user' } as const;
    const { clientId } = await tenants.credential();
    const { credentials } = tenants;
    for (const asking of [
      () => credentials.list(by, { offset: 0, limit: 10 }),
      () => credentials.get(by, clientId),
      () => credentials.create(by, { name: 'x', organizationRole: 'user', workspaces: EDITOR }),
      () => credentials.update(by, clientId, {}),
      () => credentials.rotate(by, clientId),
      () => credentials.revokeSecret(by, clientId, 'x'),
      () => credentials.remove(by, clientId),
    ])
      await expect(asking()).rejects.toMatchObject(refusal('forbidden'));
  });

  it('is not there for another organization', async () => {
    const { clientId } = await tenants.credential();
    for (const asking of [
      () => tenants.credentials.get(BETA_OWNER, clientId),
      () => tenants.credentials.update(BETA_OWNER, clientId, { enabled: false }),
      () => tenants.credentials.rotate(BETA_OWNER, clientId),
      () => tenants.credentials.remove(BETA_OWNER, clientId),
      () => tenants.credentials.remove(OWNER, 'unknown'),
    ])
      await expect(asking()).rejects.toMatchObject(refusal('not-found'));
  });

  it('gives an admin no way to what an owner has', async () => {
    const owner = await tenants.credential({ organizationRole: 'owner' });
    const admin = await tenants.credential({ organizationRole: 'admin' });
    const user = await tenants.credential({ organizationRole: 'user', workspaces: EDITOR });
    const { credentials } = tenants;
    for (const asking of [
      () => credentials.rotate(ADMIN, owner.clientId),
      () => credentials.update(ADMIN, owner.clientId, { description: 'of the backup' }),
      () => credentials.update(ADMIN, admin.clientId, { organizationRole: 'owner' }),
      () => credentials.update(ADMIN, user.clientId, { organizationRole: 'owner' }),
    ])
      await expect(asking()).rejects.toMatchObject(refusal('forbidden'));
    await credentials.update(ADMIN, user.clientId, { organizationRole: 'admin' });
  });

  it('cannot give itself more, for longer or from elsewhere', async () => {
    const ipAllowlist = ['192.0.2.0/24', '198.51.100.1'];
    const expiresAt = tenants.clock.now() + DAY;
    const { clientId } = await tenants.credential({ ipAllowlist, expiresAt });
    const self = { ...ADMIN, kind: 'credential', id: clientId, name: 'itself' } as const;
    for (const fields of [
      { organizationRole: 'owner' as const },
      { expiresAt: expiresAt + 1 },
      { expiresAt: null },
      { ipAllowlist: [] },
      { ipAllowlist: ['0.0.0.0/0'] },
    ])
      await expect(
        tenants.credentials.update(self, clientId, fields),
        JSON.stringify(fields),
      ).rejects.toMatchObject(refusal('forbidden'));
    const lowered = { name: 'less', expiresAt: expiresAt - 1, ipAllowlist: ['198.51.100.1'] };
    expect(await tenants.credentials.update(self, clientId, lowered)).toMatchObject(lowered);
  });

  it('has a name of its own, which is free again once it is deleted', async () => {
    const first = await tenants.credential({ name: 'deploy' });
    const again = () => tenants.credential({ name: 'deploy' });
    await expect(again()).rejects.toMatchObject(refusal('conflict'));
    const other = await tenants.credential({ name: 'other' });
    const renaming = tenants.credentials.update(OWNER, other.clientId, { name: 'deploy' });
    await expect(renaming).rejects.toMatchObject(refusal('conflict'));
    await tenants.credentials.remove(OWNER, first.clientId);
    await again();
  });

  it.each([
    ['without a workspace', []],
    ['for a workspace that is not there', [{ workspace: 'prod', role: 'reader' as const }]],
    ['for one workspace twice', [...EDITOR, ...EDITOR]],
  ])('is refused for the role user %s', async (_, workspaces) => {
    const making = tenants.credential({ organizationRole: 'user', workspaces });
    await expect(making).rejects.toMatchObject(refusal('invalid-request'));
  });

  it('needs no workspaces as an admin, and keeps none', async () => {
    const made = await tenants.credential({ organizationRole: 'admin', workspaces: EDITOR });
    expect(made.workspaces).toEqual([]);
    const lowering = tenants.credentials.update(OWNER, made.clientId, { organizationRole: 'user' });
    await expect(lowering).rejects.toMatchObject(refusal('invalid-request'));
  });

  it('is not made or changed to be over already', async () => {
    const expiresAt = tenants.clock.now();
    await expect(tenants.credential({ expiresAt })).rejects.toMatchObject(refusal('invalid-request'));
    const { clientId } = await tenants.credential({ expiresAt: expiresAt + 1 });
    const changing = tenants.credentials.update(OWNER, clientId, { expiresAt });
    await expect(changing).rejects.toMatchObject(refusal('invalid-request'));
  });

  it('ends its tokens by each change that takes something away, and by no other', async () => {
    const { clientId } = await tenants.credential({ organizationRole: 'user', workspaces: EDITOR });
    const version = async () => (await tenants.storage.credentials.get(clientId))?.version ?? 0;
    const change = async (fields: Parameters<typeof tenants.credentials.update>[2]) => {
      const before = await version();
      await tenants.credentials.update(OWNER, clientId, fields);
      return (await version()) !== before;
    };
    const reader = [{ workspace: 'main', role: 'reader' as const }];
    expect(await change({ name: 'renamed', description: 'x', ipAllowlist: ['192.0.2.1'] })).toBe(false);
    expect(await change({ workspaces: [...EDITOR, { workspace: 'test', role: 'reader' }] })).toBe(false);
    expect(await change({ workspaces: EDITOR })).toBe(true);
    expect(await change({ workspaces: reader })).toBe(true);
    expect(await change({ organizationRole: 'admin' })).toBe(false);
    expect(await change({ organizationRole: 'user', workspaces: reader })).toBe(true);
    expect(await change({ enabled: false })).toBe(true);
    expect(await change({ enabled: true })).toBe(false);
  });
});

describe('a secret', () => {
  const secretsOf = (clientId: string) => tenants.storage.credentials.secrets(clientId);

  it('is replaced with a day of grace, and of three the oldest goes', async () => {
    const { clientId, secrets } = await tenants.credential();
    const now = tenants.clock.now();
    const rotated = await tenants.credentials.rotate(ADMIN, clientId);
    expect(rotated.credential.secrets).toMatchObject([{ notAfter: now + DAY }, { notAfter: null }]);
    await tenants.clock.advance(1);
    const again = await tenants.credentials.rotate(ADMIN, clientId, 7 * DAY);
    expect(again.credential.secrets).toHaveLength(2);
    expect(again.credential.secrets.map(({ id }) => id)).not.toContain(secrets[0]?.id);
    expect(again.secret.reveal()).not.toBe(rotated.secret.reveal());
  });

  it('that is in its grace is not given a longer one', async () => {
    const { clientId } = await tenants.credential();
    const now = tenants.clock.now();
    await tenants.credentials.rotate(OWNER, clientId, DAY);
    await tenants.credentials.rotate(OWNER, clientId, 0);
    expect(await secretsOf(clientId)).toHaveLength(1);
    await tenants.credentials.rotate(OWNER, clientId, 5);
    expect(await secretsOf(clientId)).toMatchObject([{ not_after: now + 5 }, { not_after: null }]);
  });

  it.each([-1, 7 * DAY + 1, 0.5, Number.NaN])('has no grace of %s ms', async grace => {
    const { clientId } = await tenants.credential();
    const rotating = tenants.credentials.rotate(OWNER, clientId, grace);
    await expect(rotating).rejects.toMatchObject(refusal('invalid-request'));
  });

  it('is ended alone, with the tokens of its credential', async () => {
    const { clientId, secrets } = await tenants.credential();
    await tenants.credentials.rotate(OWNER, clientId);
    const before = await tenants.storage.credentials.get(clientId);
    const left = await tenants.credentials.revokeSecret(ADMIN, clientId, secrets[0]?.id ?? '');
    expect(left.secrets).toHaveLength(1);
    expect((await tenants.storage.credentials.get(clientId))?.version).not.toBe(before?.version);
    const again = tenants.credentials.revokeSecret(ADMIN, clientId, secrets[0]?.id ?? '');
    await expect(again).rejects.toMatchObject(refusal('not-found'));
  });
});
