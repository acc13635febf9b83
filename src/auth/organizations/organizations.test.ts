import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { testClock } from '../../../test/helpers/clock.ts';
import { openTestStorage, type TestStorage } from '../../../test/helpers/storage.ts';
import { monotonicIds } from '../../lib/ids.ts';
import type { OrganizationActor } from '../actor.ts';
import { addAccount, createMembers, type MemberRoles, type Members } from './members.ts';
import { createOrganization } from './organizations.ts';
import { createWorkspaces, type Workspaces } from './workspaces.ts';

const clock = testClock();
const ids = monotonicIds(clock);
const OWNER: OrganizationActor = {
  kind: 'member',
  id: 'o',
  name: 'owner',
  organization: 'acme',
  role: 'owner',
};
const ADMIN: OrganizationActor = { ...OWNER, id: 'a', name: 'admin', role: 'admin' };
const USER: OrganizationActor = { ...OWNER, id: 'u', name: 'user', role: 'user' };
const CORP: OrganizationActor = { ...OWNER, organization: 'corp' };
const roles = (
  organizationRole: MemberRoles['organizationRole'],
  ...workspaces: MemberRoles['workspaces']
) => ({
  organizationRole,
  workspaces,
});
const FIRST_PAGE = { offset: 0, limit: 100 };

let store: TestStorage;
let members: Members;
let workspaces: Workspaces;
let propagations = 0;

beforeEach(async () => {
  store = await openTestStorage();
  const { storage } = store;
  propagations = 0;
  const feed = {
    async waitForPropagation() {
      propagations += 1;
    },
  };
  const passwords = { hash: async (password: string) => `hash of ${password}` };
  members = createMembers({ storage, passwords, feed, clock, ids });
  workspaces = createWorkspaces({ storage, feed, clock });
  await storage.transaction(async tx => {
    for (const id of ['acme', 'corp'])
      await tx.addOrganization({ id, name: id, role_selector: 1, created_at: 1, updated_at: 1 });
  });
  await workspaces.create(OWNER, 'main', {});
});
afterEach(() => store.close());

it('gives the owner of a new organization an account there, whoever knows the address elsewhere', async () => {
  const { storage } = store;
  const owner = 'ann@example.com';
  const { member } = await members.add(CORP, owner, roles('admin'));
  const before = await storage.users.byId(member.userId);
  const passwords = { hash: async (password: string) => `hash of ${password}` };
  const made = await createOrganization(
    { storage, passwords, clock, ids, actor: 'root' },
    { id: 'fresh', owner, workspace: 'main' },
  );
  expect(await storage.users.byId(member.userId)).toEqual(before);
  expect(await storage.users.byName(owner, 'fresh')).toMatchObject({
    id: made.owner.id,
    password: `hash of ${made.password.reveal()}`,
    force_password_change: 1,
  });
});

describe('members', () => {
  it('are added by e-mail address, a new user with a password that is shown once', async () => {
    const reader = { workspace: 'main', role: 'reader' } as const;
    const { member, initialPassword } = await members.add(ADMIN, ' Ann@Example.com ', roles('user', reader));
    expect(member).toMatchObject({
      email: 'ann@example.com',
      organizationRole: 'user',
      workspaces: [reader],
      enabled: true,
      createdBy: 'admin',
    });
    expect(initialPassword.reveal()).toMatch(/^\w{5}(-\w{5}){3}$/);
    const user = await store.storage.users.byName('ann@example.com', 'acme');
    expect(user).toMatchObject({ force_password_change: 1, role: 'user' });
    expect((await members.list('acme', FIRST_PAGE)).rows).toEqual([member]);
    expect(await members.get('acme', member.userId)).toEqual(member);
  });

  it('have an account of their own in each organization, and one of an address in each', async () => {
    const { storage } = store;
    const ours = await members.add(OWNER, 'ann@example.com', roles('owner'));
    const theirs = await members.add(CORP, 'Ann@Example.com', roles('user'));
    expect(theirs.member.userId).not.toBe(ours.member.userId);
    for (const { member, initialPassword } of [ours, theirs])
      expect(await storage.users.byId(member.userId)).toMatchObject({
        password: `hash of ${initialPassword.reveal()}`,
        force_password_change: 1,
      });
    await expect(members.add(OWNER, 'ann@example.com', roles('user'))).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('already'),
    });
  });

  it('are no users any more once they are removed, and come back as new', async () => {
    const { member } = await members.add(CORP, 'ann@example.com', roles('admin'));
    await members.add(CORP, 'eve@example.com', roles('owner'));
    await members.remove(CORP, member.userId);
    expect(await store.storage.users.byName('ann@example.com', 'corp')).toBeUndefined();
    const back = await members.add(CORP, 'ann@example.com', roles('admin'));
    expect(back.member.userId).not.toBe(member.userId);
  });

  it('lose nothing where another organization changes or removes them', async () => {
    const ours = await members.add(OWNER, 'ann@example.com', roles('owner'));
    const theirs = await members.add(CORP, 'ann@example.com', roles('admin'));
    await members.add(CORP, 'eve@example.com', roles('owner'));
    const before = await store.storage.users.byId(ours.member.userId);
    await members.setRoles(CORP, theirs.member.userId, roles('user'));
    await members.remove(CORP, theirs.member.userId);
    expect(await store.storage.users.byId(ours.member.userId)).toEqual(before);
    expect(await members.get('acme', ours.member.userId)).toMatchObject({ organizationRole: 'owner' });
  });

  it('are 1,000 in an organization at most, so that others have room', async () => {
    await store.storage.transaction(async tx => {
      for (let at = 0; at < 1000; at++) {
        const person = { organization: 'acme', username: `u${at}@example.com`, hash: 'h' };
        const user = await addAccount(tx, { clock, ids }, person);
        const row = { organization: 'acme', user_id: user.id, role: 'owner' as const };
        await tx.addMember({ ...row, created_by: 'a', created_at: 1, updated_by: 'a', updated_at: 1 });
      }
    });
    await expect(members.add(OWNER, 'ann@example.com', roles('admin'))).rejects.toMatchObject({
      code: 'unprocessable',
    });
    expect(await store.storage.users.byName('ann@example.com', 'acme')).toBeUndefined();
    expect((await members.add(CORP, 'ann@example.com', roles('admin'))).initialPassword).toBeDefined();
  });

  it.each(['', 'ann', 'a b@c', '@'])('are not added by the name %j', async email => {
    await expect(members.add(OWNER, email, roles('user'))).rejects.toMatchObject({ code: 'invalid-request' });
  });

  it('get no role in a workspace that the organization does not have', async () => {
    const nowhere = roles('user', { workspace: 'elsewhere', role: 'admin' });
    await expect(members.add(OWNER, 'ann@example.com', nowhere)).rejects.toMatchObject({
      problems: [
        {
          path: 'roles.workspaces[0].workspaceId',
          message: "'elsewhere' is no workspace of the organization",
        },
      ],
    });
  });

  it('are made or changed by nobody of the role user', async () => {
    const { member } = await members.add(OWNER, 'ann@example.com', roles('owner'));
    const refused = { code: 'forbidden' };
    await expect(members.add(USER, 'bob@example.com', roles('user'))).rejects.toMatchObject(refused);
    await expect(members.setRoles(USER, member.userId, roles('user'))).rejects.toMatchObject(refused);
    await expect(members.remove(USER, member.userId)).rejects.toMatchObject(refused);
  });

  it('become owners, and are changed or removed as such, by owners alone', async () => {
    const { member } = await members.add(OWNER, 'ann@example.com', roles('owner'));
    await members.add(OWNER, 'eve@example.com', roles('owner'));
    const { member: bob } = await members.add(ADMIN, 'bob@example.com', roles('admin'));
    const refused = { code: 'forbidden', message: expect.stringContaining('Only an owner') };
    await expect(members.setRoles(ADMIN, bob.userId, roles('owner'))).rejects.toMatchObject(refused);
    await expect(members.setRoles(ADMIN, member.userId, roles('user'))).rejects.toMatchObject(refused);
    await expect(members.remove(ADMIN, member.userId)).rejects.toMatchObject(refused);
    await members.setRoles(OWNER, bob.userId, roles('owner'));
    await members.remove(OWNER, member.userId);
    await expect(members.get('acme', member.userId)).rejects.toMatchObject({ code: 'not-found' });
  });

  it('keep one owner who can sign in', async () => {
    const { member } = await members.add(OWNER, 'ann@example.com', roles('owner'));
    const last = { code: 'conflict', message: expect.stringContaining('last owner') };
    await expect(members.remove(OWNER, member.userId)).rejects.toMatchObject(last);
    await expect(members.setRoles(OWNER, member.userId, roles('admin'))).rejects.toMatchObject(last);
    expect(await members.get('acme', member.userId)).toMatchObject({ organizationRole: 'owner' });
  });

  it('lose the tokens they hold with a change of their roles, in every process before it is answered', async () => {
    await members.add(OWNER, 'eve@example.com', roles('owner'));
    const { member } = await members.add(OWNER, 'ann@example.com', roles('admin'));
    const version = async () => (await store.storage.users.byId(member.userId))?.version ?? 0;
    const before = await version();
    await members.setRoles(OWNER, member.userId, roles('user'));
    const between = await version();
    await members.remove(OWNER, member.userId);
    expect([before < between, await store.storage.users.byId(member.userId), propagations]).toEqual([
      true,
      undefined,
      2,
    ]);
  });

  it('are nobody to another organization', async () => {
    const { member } = await members.add(OWNER, 'ann@example.com', roles('admin'));
    const other = { ...OWNER, organization: 'corp' };
    const unknown = { code: 'not-found' };
    await expect(members.get('corp', member.userId)).rejects.toMatchObject(unknown);
    await expect(members.setRoles(other, member.userId, roles('user'))).rejects.toMatchObject(unknown);
    await expect(members.remove(other, member.userId)).rejects.toMatchObject(unknown);
    await expect(members.resetPassword(other, member.userId)).rejects.toMatchObject(unknown);
  });

  it('get another one-time password from who may act on them, which ends what the old one opened', async () => {
    const { member: ann } = await members.add(OWNER, 'ann@example.com', roles('owner'));
    const { member: bob } = await members.add(OWNER, 'bob@example.com', roles('admin'));
    const before = await store.storage.users.byId(bob.userId);
    const { member, initialPassword } = await members.resetPassword(ADMIN, bob.userId);
    const hash = `hash of ${initialPassword.reveal()}`;
    expect(member.userId).toBe(bob.userId);
    expect(await store.storage.users.byId(bob.userId)).toMatchObject({
      ...{ password: hash, initial_password: hash, force_password_change: 1 },
      version: expect.toSatisfy((version: number) => version > (before?.version ?? 0)),
    });
    expect(propagations).toBe(1);
    for (const [actor, id, refusal] of [
      [ADMIN, ann.userId, 'Only an owner'],
      [USER, bob.userId, 'Only owners and admins'],
      [{ ...ADMIN, id: bob.userId }, bob.userId, 'your own account'],
    ] as const)
      await expect(members.resetPassword(actor, id)).rejects.toMatchObject({
        code: 'forbidden',
        message: expect.stringContaining(refusal),
      });
    expect(await store.storage.users.byId(bob.userId)).toMatchObject({ password: hash });
  });
});

describe('workspaces', () => {
  it('are created, described, listed and removed by owners and admins', async () => {
    const made = await workspaces.create(ADMIN, 'test', { alias: 'Test', tags: ['eu'] });
    expect(made).toMatchObject({
      id: 'test',
      alias: 'Test',
      description: '',
      tags: '["eu"]',
      state: 'Active',
    });
    const changed = await workspaces.update(ADMIN, 'test', { description: 'to try things out' });
    expect(changed).toMatchObject({ alias: 'Test', description: 'to try things out', tags: '["eu"]' });
    expect((await workspaces.list('acme')).map(({ id }) => id)).toEqual(['main', 'test']);
    await workspaces.remove(ADMIN, 'test');
    await expect(workspaces.get('acme', 'test')).rejects.toMatchObject({ code: 'not-found' });
    await expect(workspaces.create(USER, 'more', {})).rejects.toMatchObject({ code: 'forbidden' });
  });

  it('take with them the roles that members had there', async () => {
    await workspaces.create(OWNER, 'test', {});
    const everywhere = ['main', 'test'].map(workspace => ({ workspace, role: 'reader' }) as const);
    const { member } = await members.add(OWNER, 'ann@example.com', roles('user', ...everywhere));
    await workspaces.remove(OWNER, 'test');
    expect((await members.get('acme', member.userId)).workspaces).toEqual([everywhere[0]]);
  });

  it.each(['abc', 'Main', 'a-bcd', 'a'.repeat(42), ''])('are not called %j', async id => {
    await expect(workspaces.create(OWNER, id, {})).rejects.toMatchObject({ code: 'invalid-request' });
  });

  it('are there once in an organization, and may be called the same in two', async () => {
    await expect(workspaces.create(OWNER, 'main', {})).rejects.toMatchObject({ code: 'conflict' });
    await workspaces.create({ ...OWNER, organization: 'corp' }, 'main', {});
  });
});
