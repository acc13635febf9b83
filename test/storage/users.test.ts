import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Storage } from '../../src/storage/storage.ts';
import type { CommittedChange } from '../../src/storage/types.ts';
import { testClock } from '../helpers/clock.ts';
import type { TestDatabase } from './contract.ts';
import { dialects } from './dialects.ts';
import { userRow } from './rows.ts';

describe.each(dialects)('the users of storage on $name', dialect => {
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

  it('are listed by name, page by page', async () => {
    await storage.transaction(async tx => {
      for (const name of ['cid', 'ann', 'bob']) await tx.addUser(userRow(name));
    });
    const { rows, total } = await storage.users.list({ offset: 1, limit: 5 });
    expect([rows.map(({ username }) => username), total]).toEqual([['bob', 'cid'], 3]);
  });

  it('are accounts of organizations, each with a name and an identity of its own there', async () => {
    const identity = { issuer: 'https://idp.example', subject: 's' };
    const [acme, corp, own] = ['acme', 'corp', ''].map((organization, at) => ({
      ...{ ...userRow('ann'), ...identity },
      ...{ organization, created_at: at },
    }));
    if (acme === undefined || corp === undefined || own === undefined) throw new Error('there are three');
    await storage.transaction(async tx => {
      for (const row of [own, corp, acme]) await tx.addUser(row);
      expect(await tx.userByName('ann', 'corp')).toEqual(corp);
      expect(await tx.accountsNamed('ann')).toEqual([acme, corp]);
      expect(await tx.accountsOf(identity.issuer, identity.subject)).toEqual([acme, corp]);
    });
    const { users } = storage;
    expect([await users.byName('ann'), await users.byName('ann', 'none')]).toEqual([own, undefined]);
    expect(await users.byIdentity(identity.issuer, identity.subject)).toEqual(own);
    expect(await users.accountsNamed('ann', 1)).toEqual([acme]);
    for (const taken of [
      { ...userRow('ann'), organization: 'acme' },
      { ...userRow('bob'), organization: 'acme', ...identity },
    ])
      await expect(storage.transaction(tx => tx.addUser(taken))).rejects.toMatchObject({ code: 'conflict' });
  });

  it('are changed and removed whole', async () => {
    const ann = userRow('ann');
    await storage.transaction(tx => tx.addUser(ann));
    const changed = { ...ann, first: 'Ann', disabled: 1, version: 9, kind: 'machine' as const };
    await storage.transaction(tx => tx.updateUser(changed));
    expect(await storage.users.byId(ann.id)).toEqual(changed);
    await storage.transaction(tx => tx.removeUser(ann.id));
    expect(await storage.users.byName('ann')).toBeUndefined();
  });

  it('have one number for each change, which goes with what is rolled back', async () => {
    expect(await storage.users.changes()).toBe(0);
    expect(await storage.transaction(tx => tx.incrementUserChanges())).toBe(1);
    const failing = storage.transaction(async tx => {
      await tx.incrementUserChanges();
      throw new Error('changed my mind');
    });
    await expect(failing).rejects.toThrow('changed my mind');
    expect(await storage.transaction(tx => tx.incrementUserChanges())).toBe(2);
    expect(await storage.users.changes()).toBe(2);
  });

  it('count as admins who can log in only while they are not disabled', async () => {
    await storage.transaction(async tx => {
      await tx.addUser(userRow('ann'));
      await tx.addUser({ ...userRow('bob'), disabled: 1 });
      await tx.addUser({ ...userRow('cid'), role: 'reader' });
    });
    expect(await storage.transaction(tx => tx.countEnabledAdmins())).toBe(1);
  });

  it('give tokens back, which are forgotten when they are over', async () => {
    await storage.transaction(tx => tx.revokeToken({ id: 't1', expires_at: 100 }, 50));
    await storage.transaction(tx => tx.revokeToken({ id: 't1', expires_at: 100 }, 50));
    expect([await storage.users.isRevoked('t1'), await storage.users.isRevoked('t2')]).toEqual([true, false]);
    await storage.transaction(tx => tx.revokeToken({ id: 't2', expires_at: 200 }, 100));
    expect([await storage.users.isRevoked('t1'), await storage.users.isRevoked('t2')]).toEqual([false, true]);
  });

  it('publish their changes', async () => {
    const heard: CommittedChange[] = [];
    storage.subscribe(change => void heard.push(change));
    const ann = userRow('ann');
    await storage.transaction(async tx => {
      await tx.addUser(ann);
      await tx.revokeToken({ id: 't', expires_at: 1 }, 0);
    });
    expect(heard).toEqual(
      expect.arrayContaining([
        { workspace: '*', resource: 'users', id: ann.id },
        { workspace: '*', resource: 'tokens', id: 't' },
      ]),
    );
  });
});
