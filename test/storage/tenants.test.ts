import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Storage } from '../../src/storage/storage.ts';
import type { CredentialRow } from '../../src/storage/stores/credentials.ts';
import { PEPPER } from '../../src/storage/stores/instance.ts';
import type { CommittedChange } from '../../src/storage/types.ts';
import { testClock } from '../helpers/clock.ts';
import type { TestDatabase, TestDialect } from './contract.ts';
import { dialects } from './dialects.ts';
import { userRow } from './rows.ts';
import { credentialRow, memberRow, organizationRow, secretOf, workspaceRow } from './tenant-rows.ts';

const FIRST_PAGE = { offset: 0, limit: 100 };

/** The contract of organizations, their workspaces, members and credentials, for one dialect. */
export function describeTenants(dialect: TestDialect): void {
  describe(`tenants on ${dialect.name}`, () => {
    let database: TestDatabase;
    let storage: Storage;

    beforeEach(async () => {
      database = await dialect.create();
      storage = await database.open(testClock());
    });
    afterEach(async () => {
      await storage.close();
      await database.remove();
    });

    const conflict = { code: 'conflict' };

    describe('organizations', () => {
      it('are stored and changed, each id once', async () => {
        const acme = organizationRow('acme');
        await storage.transaction(tx => tx.addOrganization(acme));
        await expect(storage.transaction(tx => tx.addOrganization(acme))).rejects.toMatchObject(conflict);
        const changed = { ...acme, role_selector: 0, name: 'Acme Corp' };
        await storage.transaction(tx => tx.updateOrganization(changed));
        expect(await storage.organizations.get('acme')).toEqual(changed);
        expect(await storage.organizations.get('other')).toBeUndefined();
        expect(await storage.organizations.list(FIRST_PAGE)).toEqual({ rows: [changed], total: 1 });
      });

      it('have workspaces of their own, whatever others call theirs', async () => {
        const main = workspaceRow('acme', 'main');
        const others = workspaceRow('beta', 'main');
        await storage.transaction(async tx => {
          await tx.addWorkspace(others);
          await tx.addWorkspace(main);
          expect(await tx.countWorkspaces('acme')).toBe(1);
        });
        await expect(storage.transaction(tx => tx.addWorkspace(main))).rejects.toMatchObject(conflict);
        const changed = { ...main, alias: 'Production', tags: '["eu"]', state: 'Inactive' as const };
        await storage.transaction(tx => tx.updateWorkspace(changed));
        expect(await storage.organizations.workspace('acme', 'main')).toEqual(changed);
        expect(await storage.organizations.workspaces('acme')).toEqual([changed]);
        expect(await storage.organizations.allWorkspaces()).toEqual([changed, others]);
      });

      it('are hidden once they are removed, keep their id until they are forgotten, and are cleared of what they kept', async () => {
        const message = {
          id: 'm',
          title: 'Hello',
          text: 'Hello',
          severity: 'info',
          time: 1,
          group_name: null,
          metadata: null,
        };
        await storage.transaction(async tx => {
          for (const organization of ['acme', 'beta']) {
            await tx.addWorkspace(workspaceRow(organization, 'main'));
            for (const id of ['m', 'n']) await tx.in(`main-${organization}`).addMessage({ ...message, id });
          }
          await tx.removeWorkspace('acme', 'main', 7);
        });
        expect(await storage.organizations.workspace('acme', 'main')).toBeUndefined();
        expect(await storage.organizations.allWorkspaces()).toEqual([workspaceRow('beta', 'main')]);
        expect(await storage.organizations.removedWorkspaces()).toMatchObject([
          { organization: 'acme', id: 'main', updated_at: 7 },
        ]);
        const again = () => storage.transaction(tx => tx.addWorkspace(workspaceRow('acme', 'main')));
        await expect(again()).rejects.toMatchObject(conflict);
        const clear = () => storage.transaction(tx => tx.in('main-acme').clear(1));
        expect([await clear(), await clear(), await clear()]).toEqual([false, false, true]);
        const left = (workspace: string) => storage.in(workspace).messages.list(FIRST_PAGE);
        expect([(await left('main-acme')).total, (await left('main-beta')).total]).toEqual([0, 2]);
        await storage.transaction(async tx => {
          // Of one that is there nothing happens.
          await tx.forgetWorkspace('beta', 'main');
          await tx.forgetWorkspace('acme', 'main');
        });
        await again();
        expect(await storage.organizations.allWorkspaces()).toHaveLength(2);
      });

      it('take with a workspace the roles that were in it, and no others', async () => {
        const roles = [
          { workspace: 'main', role: 'editor' },
          { workspace: 'test', role: 'reader' },
        ];
        await storage.transaction(async tx => {
          for (const organization of ['acme', 'beta']) {
            await tx.addWorkspace(workspaceRow(organization, 'main'));
            await tx.addCredential(credentialRow(organization, 'ci'));
            await tx.setCredentialRoles(`ci-${organization}`, roles);
            await tx.setMemberRoles(organization, 'u-1', roles);
          }
          await tx.removeWorkspace('acme', 'main', 1);
        });
        expect(await storage.organizations.workspaces('acme')).toEqual([]);
        expect(await storage.organizations.workspaces('beta')).toHaveLength(1);
        const left = await storage.credentials.roles(['ci-acme', 'ci-beta']);
        expect(left.map(({ client_id, workspace }) => `${client_id} ${workspace}`)).toEqual([
          'ci-acme test',
          'ci-beta main',
          'ci-beta test',
        ]);
        const ofMembers = await Promise.all(
          ['acme', 'beta'].map(organization => storage.organizations.memberRoles(organization, ['u-1'])),
        );
        expect(ofMembers.map(rows => rows.map(({ workspace }) => workspace))).toEqual([
          ['test'],
          ['main', 'test'],
        ]);
      });
    });

    describe('members', () => {
      it('belong to organizations with a role in each', async () => {
        const [ann, bob] = [memberRow('acme', 'u-ann', 'owner'), memberRow('acme', 'u-bob', 'user')];
        const elsewhere = memberRow('beta', 'u-ann', 'user');
        await storage.transaction(async tx => {
          for (const row of [ann, bob, elsewhere]) await tx.addMember(row);
          await tx.setMemberRoles('acme', 'u-bob', [{ workspace: 'main', role: 'editor' }]);
        });
        await expect(storage.transaction(tx => tx.addMember(ann))).rejects.toMatchObject(conflict);
        expect(await storage.organizations.members('acme', FIRST_PAGE)).toEqual({
          rows: [ann, bob],
          total: 2,
        });
        expect(await storage.organizations.membershipsOf('u-ann')).toEqual([ann, elsewhere]);
        expect(await storage.organizations.memberRoles('acme', ['u-ann', 'u-bob'])).toEqual([
          { organization: 'acme', user_id: 'u-bob', workspace: 'main', role: 'editor' },
        ]);
        await storage.transaction(async tx => {
          await tx.updateMember({ ...bob, role: 'admin' });
          await tx.setMemberRoles('acme', 'u-bob', []);
        });
        expect(await storage.organizations.member('acme', 'u-bob')).toEqual({ ...bob, role: 'admin' });
        expect(await storage.organizations.memberRoles('acme', ['u-bob'])).toEqual([]);
      });

      it('go with their roles, and stay in other organizations', async () => {
        await storage.transaction(async tx => {
          for (const organization of ['acme', 'beta']) {
            await tx.addMember(memberRow(organization, 'u-1', 'user'));
            await tx.setMemberRoles(organization, 'u-1', [{ workspace: 'main', role: 'reader' }]);
          }
          await tx.removeMember('acme', 'u-1');
          expect(await tx.membershipsOf('u-1')).toHaveLength(1);
        });
        expect(await storage.organizations.membershipsOf('u-1')).toHaveLength(1);
        expect(await storage.organizations.memberRoles('acme', ['u-1'])).toEqual([]);
        expect(await storage.organizations.memberRoles('beta', ['u-1'])).toHaveLength(1);
      });

      it('count as owners who can sign in', async () => {
        const [ann, bob] = [userRow('ann'), { ...userRow('bob'), disabled: 1 }];
        await storage.transaction(async tx => {
          for (const user of [ann, bob]) {
            await tx.addUser(user);
            await tx.addMember(memberRow('acme', user.id, 'owner'));
          }
          await tx.addMember(memberRow('acme', 'gone', 'owner'));
          await tx.addMember(memberRow('beta', ann.id, 'admin'));
          expect([await tx.countEnabledOwners('acme'), await tx.countEnabledOwners('beta')]).toEqual([1, 0]);
        });
      });
    });

    describe('credentials', () => {
      it('have a name of their own in the organization, which is free again once they are deleted', async () => {
        const ci = credentialRow('acme', 'ci');
        const again = { ...ci, client_id: 'again' };
        await storage.transaction(tx => tx.addCredential(ci));
        await storage.transaction(tx => tx.addCredential(credentialRow('beta', 'ci')));
        await expect(storage.transaction(tx => tx.addCredential(again))).rejects.toMatchObject(conflict);
        const deleted = { ...ci, deleted_at: 9, enabled: 0 };
        await storage.transaction(async tx => {
          await tx.updateCredential(deleted);
          await tx.addCredential(again);
        });
        expect(await storage.credentials.list('acme', FIRST_PAGE)).toEqual({ rows: [again], total: 1 });
        expect(await storage.credentials.get('ci-acme')).toEqual(deleted);
        await storage.transaction(async tx => {
          expect(await tx.credentialByName('acme', 'ci')).toEqual(again);
          expect(await tx.countCredentials('acme')).toBe(1);
        });
        const other = credentialRow('acme', 'other');
        await storage.transaction(tx => tx.addCredential(other));
        const renamed = storage.transaction(tx => tx.updateCredential({ ...other, name: 'ci' }));
        await expect(renamed).rejects.toMatchObject(conflict);
      });

      it('have secrets, which end and go', async () => {
        const [first, second] = [secretOf('ci-acme', 's1'), secretOf('ci-acme', 's2')];
        await storage.transaction(async tx => {
          for (const row of [first, second, secretOf('other', 's3')]) await tx.addCredentialSecret(row);
          await tx.endCredentialSecret('ci-acme', 's1', 77);
          expect(await tx.credentialSecrets('ci-acme')).toEqual([{ ...first, not_after: 77 }, second]);
          await tx.removeCredentialSecret('ci-acme', 's1');
        });
        expect(await storage.credentials.secrets('ci-acme')).toEqual([second]);
        expect(await storage.credentials.secrets('other')).toHaveLength(1);
      });

      it('are found by when they end, while they are enabled and there', async () => {
        const ending = (organization: string, name: string, change: Partial<CredentialRow>) => ({
          ...credentialRow(organization, name),
          ...change,
        });
        const [soon, later, over] = [
          ending('acme', 'soon', { expires_at: 20 }),
          ending('acme', 'later', { expires_at: 30 }),
          ending('acme', 'over', { expires_at: 10 }),
        ];
        await storage.transaction(async tx => {
          for (const row of [
            ...[later, over, soon],
            credentialRow('acme', 'endless'),
            ending('acme', 'disabled', { expires_at: 1, enabled: 0 }),
            ending('acme', 'deleted', { expires_at: 1, deleted_at: 2 }),
            ending('beta', 'theirs', { expires_at: 1 }),
          ])
            await tx.addCredential(row);
        });
        expect(await storage.credentials.expiring('acme', 10)).toEqual([over, soon, later]);
        expect(await storage.credentials.expiring('acme', 2)).toEqual([over, soon]);
        expect(await storage.credentials.expiring('nobody', 10)).toEqual([]);
      });

      it('have roles in workspaces, replaced as a whole', async () => {
        const set = (...workspaces: string[]) =>
          storage.transaction(tx =>
            tx.setCredentialRoles(
              'ci',
              workspaces.map(workspace => ({ workspace, role: 'reader' })),
            ),
          );
        await set('main', 'test');
        await set('prod');
        expect(await storage.credentials.roles(['ci'])).toEqual([
          { client_id: 'ci', workspace: 'prod', role: 'reader' },
        ]);
        await set();
        expect(await storage.transaction(tx => tx.credentialRoles('ci'))).toEqual([]);
        expect(await storage.credentials.roles([])).toEqual([]);
      });

      it('remember the latest use, over whatever else changes', async () => {
        const ci = credentialRow('acme', 'ci');
        await storage.transaction(async tx => {
          await tx.addCredential(ci);
          await tx.addCredentialSecret(secretOf('ci-acme', 's1'));
          await tx.recordSecretUses([{ id: 's1', at: 20 }]);
          await tx.recordSecretUses([{ id: 's1', at: 10 }]);
          await tx.updateCredential({ ...ci, description: 'new' });
        });
        expect(await storage.credentials.get('ci-acme')).toEqual({
          ...ci,
          description: 'new',
          last_used_at: 20,
        });
        expect(await storage.credentials.secrets('ci-acme')).toMatchObject([{ last_used_at: 20 }]);
      });
    });

    it('publishes every change but uses', async () => {
      const heard: CommittedChange[] = [];
      storage.subscribe(change => void (change.id !== '*' && heard.push(change)));
      const ci = credentialRow('acme', 'ci');
      await storage.transaction(async tx => {
        await tx.addOrganization(organizationRow('acme'));
        await tx.addMember(memberRow('acme', 'u-1', 'owner'));
        await tx.addCredential(ci);
      });
      await storage.transaction(tx => tx.recordSecretUses([{ id: 's1', at: 20 }]));
      await storage.transaction(tx => tx.addWorkspace(workspaceRow('beta', 'main')));
      expect(heard).toEqual([
        { workspace: '*', resource: 'organizations', id: 'acme' },
        { workspace: '*', resource: 'members', id: 'u-1' },
        { workspace: '*', resource: 'credentials', id: 'ci-acme' },
        { workspace: '*', resource: 'organizations', id: 'beta' },
      ]);
    });

    it('says that it holds something encrypted once it has the pepper of credentials', async () => {
      expect(await storage.hasSealedValues()).toBe(false);
      await storage.transaction(tx => tx.setInstanceValue(PEPPER, 'v1.key.nonce.text.tag'));
      expect(await storage.hasSealedValues()).toBe(true);
    });
  });
}

for (const dialect of dialects) describeTenants(dialect);
