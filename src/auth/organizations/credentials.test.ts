import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ADMIN, OWNER, openTenants, type Tenants } from '../../../test/helpers/tenants.ts';
import { createCredentials } from './credentials.ts';

let tenants: Tenants;
beforeAll(async () => {
  tenants = await openTenants();
});
afterAll(() => tenants.close());

const EDITOR = [{ workspace: 'main', role: 'editor' }] as const;
const refusal = (code: string) => ({ code });
const DAY = 86_400_000;

describe('a credential', () => {
  it('is shown with its secret once, and is enabled without a description unless somebody says otherwise', async () => {
    const { credential, secret } = await tenants.credentials.create(OWNER, 'acme', {
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
    const known = await tenants.credentials.get(ADMIN, 'acme', credential.clientId);
    expect(known).toEqual(credential);
    expect(
      JSON.stringify([known, await tenants.storage.credentials.secrets(credential.clientId)]),
    ).not.toContain(secret.reveal());
  });

  it.each(['owner', 'admin'] as const)('may be all but deleted and made an owner by an %s', async role => {
    const by = role === 'owner' ? OWNER : ADMIN;
    const { clientId } = await tenants.credential();
    expect(await tenants.credentials.update(by, 'acme', clientId, { enabled: false })).toMatchObject({
      enabled: false,
    });
    const making = tenants.credentials.create(by, 'acme', { name: `o-${role}`, organizationRole: 'owner' });
    const removing = () => tenants.credentials.remove(by, 'acme', clientId);
    if (role === 'owner') {
      await making;
      expect(await removing()).toMatchObject({ clientId });
    } else {
      await expect(making).rejects.toMatchObject(refusal('forbidden'));
      await expect(removing()).rejects.toMatchObject(refusal('forbidden'));
    }
  });

  it('is changed in every process before that is answered, whether it lets in or out', async () => {
    let waitForPropagation = 0;
    const feed = {
      async waitForPropagation() {
        waitForPropagation += 1;
      },
    };
    const credentials = createCredentials({ ...tenants, feed });
    const { clientId } = await tenants.credential();
    await credentials.update(OWNER, 'acme', clientId, { enabled: false });
    await credentials.update(OWNER, 'acme', clientId, { enabled: true });
    await credentials.rotate(OWNER, 'acme', clientId);
    await credentials.remove(OWNER, 'acme', clientId);
    expect(waitForPropagation).toBe(4);
  });

  it('is nothing that somebody of the role user sees', async () => {
    const by = { name: 'cid', role: 'user' } as const;
    const { clientId } = await tenants.credential();
    const { credentials } = tenants;
    for (const asking of [
      () => credentials.list(by, 'acme', { offset: 0, limit: 10 }),
      () => credentials.get(by, 'acme', clientId),
      () => credentials.create(by, 'acme', { name: 'x', organizationRole: 'user', workspaces: EDITOR }),
      () => credentials.update(by, 'acme', clientId, {}),
      () => credentials.rotate(by, 'acme', clientId),
      () => credentials.revokeSecret(by, 'acme', clientId, 'x'),
      () => credentials.remove(by, 'acme', clientId),
    ])
      await expect(asking()).rejects.toMatchObject(refusal('forbidden'));
  });

  it('is not there for another organization', async () => {
    const { clientId } = await tenants.credential();
    for (const asking of [
      () => tenants.credentials.get(OWNER, 'beta', clientId),
      () => tenants.credentials.update(OWNER, 'beta', clientId, { enabled: false }),
      () => tenants.credentials.rotate(OWNER, 'beta', clientId),
      () => tenants.credentials.remove(OWNER, 'beta', clientId),
      () => tenants.credentials.remove(OWNER, 'acme', 'unknown'),
    ])
      await expect(asking()).rejects.toMatchObject(refusal('not-found'));
  });

  it('gives an admin no way to what an owner has', async () => {
    const owner = await tenants.credential({ organizationRole: 'owner' });
    const admin = await tenants.credential({ organizationRole: 'admin' });
    const user = await tenants.credential({ organizationRole: 'user', workspaces: EDITOR });
    const { credentials } = tenants;
    for (const asking of [
      () => credentials.rotate(ADMIN, 'acme', owner.clientId),
      () => credentials.update(ADMIN, 'acme', admin.clientId, { organizationRole: 'owner' }),
      () => credentials.update(ADMIN, 'acme', user.clientId, { organizationRole: 'owner' }),
    ])
      await expect(asking()).rejects.toMatchObject(refusal('forbidden'));
    await credentials.update(ADMIN, 'acme', owner.clientId, { description: 'of the backup' });
    await credentials.update(ADMIN, 'acme', user.clientId, { organizationRole: 'admin' });
  });

  it('cannot give itself more, for longer or from elsewhere', async () => {
    const ipAllowlist = ['192.0.2.0/24', '198.51.100.1'];
    const expiresAt = tenants.clock.now() + DAY;
    const { clientId } = await tenants.credential({ ipAllowlist, expiresAt });
    const self = { name: 'itself', role: 'admin', clientId } as const;
    for (const fields of [
      { organizationRole: 'owner' as const },
      { expiresAt: expiresAt + 1 },
      { expiresAt: null },
      { ipAllowlist: [] },
      { ipAllowlist: ['0.0.0.0/0'] },
    ])
      await expect(
        tenants.credentials.update(self, 'acme', clientId, fields),
        JSON.stringify(fields),
      ).rejects.toMatchObject(refusal('forbidden'));
    const lowered = { name: 'less', expiresAt: expiresAt - 1, ipAllowlist: ['198.51.100.1'] };
    expect(await tenants.credentials.update(self, 'acme', clientId, lowered)).toMatchObject(lowered);
  });

  it('has a name of its own, which is free again once it is deleted', async () => {
    const first = await tenants.credential({ name: 'deploy' });
    const again = () => tenants.credential({ name: 'deploy' });
    await expect(again()).rejects.toMatchObject(refusal('conflict'));
    const other = await tenants.credential({ name: 'other' });
    const renaming = tenants.credentials.update(OWNER, 'acme', other.clientId, { name: 'deploy' });
    await expect(renaming).rejects.toMatchObject(refusal('conflict'));
    await tenants.credentials.remove(OWNER, 'acme', first.clientId);
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
    const lowering = tenants.credentials.update(OWNER, 'acme', made.clientId, { organizationRole: 'user' });
    await expect(lowering).rejects.toMatchObject(refusal('invalid-request'));
  });

  it('is not made or changed to be over already', async () => {
    const expiresAt = tenants.clock.now();
    await expect(tenants.credential({ expiresAt })).rejects.toMatchObject(refusal('invalid-request'));
    const { clientId } = await tenants.credential({ expiresAt: expiresAt + 1 });
    const changing = tenants.credentials.update(OWNER, 'acme', clientId, { expiresAt });
    await expect(changing).rejects.toMatchObject(refusal('invalid-request'));
  });

  it('ends its tokens by each change that takes something away, and by no other', async () => {
    const { clientId } = await tenants.credential({ organizationRole: 'user', workspaces: EDITOR });
    const version = async () => (await tenants.storage.credentials.get(clientId))?.version ?? 0;
    const change = async (fields: Parameters<typeof tenants.credentials.update>[3]) => {
      const before = await version();
      await tenants.credentials.update(OWNER, 'acme', clientId, fields);
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
    const rotated = await tenants.credentials.rotate(ADMIN, 'acme', clientId);
    expect(rotated.credential.secrets).toMatchObject([{ notAfter: now + DAY }, { notAfter: null }]);
    await tenants.clock.advance(1);
    const again = await tenants.credentials.rotate(ADMIN, 'acme', clientId, 7 * DAY);
    expect(again.credential.secrets).toHaveLength(2);
    expect(again.credential.secrets.map(({ id }) => id)).not.toContain(secrets[0]?.id);
    expect(again.secret.reveal()).not.toBe(rotated.secret.reveal());
  });

  it('that is in its grace is not given a longer one', async () => {
    const { clientId } = await tenants.credential();
    const now = tenants.clock.now();
    await tenants.credentials.rotate(OWNER, 'acme', clientId, DAY);
    await tenants.credentials.rotate(OWNER, 'acme', clientId, 0);
    expect(await secretsOf(clientId)).toHaveLength(1);
    await tenants.credentials.rotate(OWNER, 'acme', clientId, 5);
    expect(await secretsOf(clientId)).toMatchObject([{ not_after: now + 5 }, { not_after: null }]);
  });

  it.each([-1, 7 * DAY + 1, 0.5, Number.NaN])('has no grace of %s ms', async grace => {
    const { clientId } = await tenants.credential();
    const rotating = tenants.credentials.rotate(OWNER, 'acme', clientId, grace);
    await expect(rotating).rejects.toMatchObject(refusal('invalid-request'));
  });

  it('is ended alone, with the tokens of its credential', async () => {
    const { clientId, secrets } = await tenants.credential();
    await tenants.credentials.rotate(OWNER, 'acme', clientId);
    const before = await tenants.storage.credentials.get(clientId);
    const left = await tenants.credentials.revokeSecret(ADMIN, 'acme', clientId, secrets[0]?.id ?? '');
    expect(left.secrets).toHaveLength(1);
    expect((await tenants.storage.credentials.get(clientId))?.version).not.toBe(before?.version);
    const again = tenants.credentials.revokeSecret(ADMIN, 'acme', clientId, secrets[0]?.id ?? '');
    await expect(again).rejects.toMatchObject(refusal('not-found'));
  });
});
