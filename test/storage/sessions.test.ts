import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Storage } from '../../src/storage/storage.ts';
import type { SessionRow } from '../../src/storage/stores/sessions.ts';
import { testClock } from '../helpers/clock.ts';
import type { TestDatabase, TestDialect } from './contract.ts';
import { dialects } from './dialects.ts';
import { userRow } from './rows.ts';

const NOW = Date.UTC(2026, 0, 1);

const row = (id: string, facts: Partial<SessionRow> = {}): SessionRow => ({
  id,
  user_id: 'u-1',
  user_version: 1,
  method: 'password',
  created_at: NOW,
  seen_at: NOW,
  ends_at: NOW + 1000,
  id_token: null,
  ...facts,
});

/** The contract of sessions, for one dialect. */
export function describeSessions(dialect: TestDialect): void {
  describe(`sessions on ${dialect.name}`, () => {
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

    const add = (session: SessionRow, most = 10) => storage.transaction(tx => tx.addSession(session, most));
    const left = async (...ids: string[]) => {
      const found = await Promise.all(ids.map(id => storage.sessions.byId(id)));
      return found.flatMap(session => session?.id ?? []);
    };

    it('keeps a session until it is removed', async () => {
      const session = row('one', { id_token: 'sealed', method: 'sso' });
      await add(session);
      expect(await storage.sessions.byId('one')).toEqual(session);
      expect(await storage.transaction(tx => tx.removeSession('one'))).toEqual(session);
      expect(await storage.transaction(tx => tx.removeSession('one'))).toBeUndefined();
      expect(await left('one')).toEqual([]);
    });

    it('keeps the newest sessions of a user, and those of others', async () => {
      await add(row('other', { user_id: 'u-2', created_at: NOW - 9 }));
      for (const age of [3, 2, 1, 0]) await add(row(`age${age}`, { created_at: NOW - age }), 3);
      expect(await left('other', 'age3', 'age2', 'age1', 'age0')).toEqual(['other', 'age2', 'age1', 'age0']);
    });

    it('records when a session was used, and nothing for one that is gone', async () => {
      await add(row('one'));
      await storage.transaction(async tx => {
        await tx.touchSession('one', NOW + 5);
        await tx.touchSession('gone', NOW + 5);
      });
      expect(await storage.sessions.byId('one')).toMatchObject({ seen_at: NOW + 5 });
      expect(await left('gone')).toEqual([]);
    });

    it('removes those that are over or idle', async () => {
      await add(row('over', { ends_at: NOW }));
      await add(row('idle', { seen_at: NOW - 10 }));
      await add(row('young', { seen_at: NOW - 9, ends_at: NOW + 1 }));
      expect(await storage.transaction(tx => tx.removeExpiredSessions(NOW, NOW - 10))).toBe(2);
      expect(await left('over', 'idle', 'young')).toEqual(['young']);
    });

    it('takes a state once, until it is over', async () => {
      const use = (id: string, endsAt: number) => storage.transaction(tx => tx.consumeLoginState(id, endsAt));
      expect(await use('one', NOW + 1)).toBe(true);
      expect(await use('two', NOW)).toBe(true);
      expect(await use('one', NOW + 1)).toBe(false);
      await storage.transaction(tx => tx.removeExpiredSessions(NOW, NOW - 10));
      expect([await use('one', NOW + 1), await use('two', NOW)]).toEqual([false, true]);
    });

    it('knows users of a provider by who they are there, each once', async () => {
      const ann = { ...userRow('ann'), issuer: 'https://a.example', subject: 's' };
      const bob = { ...userRow('bob'), issuer: 'https://b.example', subject: 's' };
      await storage.transaction(async tx => {
        for (const user of [ann, bob, userRow('local'), userRow('other')]) await tx.addUser(user);
      });
      await storage.transaction(async tx => {
        expect(await tx.userByIdentity('https://a.example', 's')).toEqual(ann);
        expect(await tx.userByIdentity('https://c.example', 's')).toBeUndefined();
        expect(await tx.userByName('bob')).toMatchObject({ id: bob.id });
      });
      expect(await storage.users.byIdentity('https://b.example', 's')).toEqual(bob);
      const again = { ...userRow('again'), issuer: 'https://a.example', subject: 's' };
      await expect(storage.transaction(tx => tx.addUser(again))).rejects.toMatchObject({ code: 'conflict' });
    });
  });
}

for (const dialect of dialects) describeSessions(dialect);
