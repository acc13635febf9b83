import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Storage, WorkspaceTransaction } from '../../src/storage/storage.ts';
import { testClock } from '../helpers/clock.ts';
import type { TestDatabase } from './contract.ts';
import { dialects } from './dialects.ts';
import { incidentRow, keyRow, messageRow, secretRow, transition, versionRow } from './rows.ts';

const FIRST_PAGE = { offset: 0, limit: 100 };

describe.each(dialects)('what storage on $name keeps of the configuration', dialect => {
  let database: TestDatabase;
  let storage: Storage;
  const clock = testClock();

  beforeEach(async () => {
    database = await dialect.create();
    storage = await database.open(clock);
  });
  afterEach(async () => {
    await storage.close();
    await database.remove();
  });

  const stores = (workspace = 'default') => storage.in(workspace);
  const write = <Result>(
    work: (tx: WorkspaceTransaction) => Promise<Result>,
    workspace = 'default',
  ): Promise<Result> => storage.transaction(tx => work(tx.in(workspace)));

  async function reopen(): Promise<void> {
    await storage.close();
    storage = await database.open(clock);
  }

  describe('the document', () => {
    const document = (revision: number, sealed: string) => ({ revision, sealed, updated_at: revision });

    it('is the one that was written last, in its own workspace', async () => {
      expect(await stores().document.get()).toBeUndefined();
      await write(tx => tx.putDocument(document(1, 'one')));
      await write(tx => tx.putDocument(document(2, 'two')));
      await write(tx => tx.putDocument(document(1, 'theirs')), 'other');
      expect(await stores().document.get()).toEqual(document(2, 'two'));
      expect(await stores('other').document.get()).toEqual(document(1, 'theirs'));
    });

    it.each([1, 3, 4])('is not followed by revision %i after the second', async revision => {
      await write(tx => tx.putDocument(document(1, 'one')));
      await write(tx => tx.putDocument(document(2, 'two')));
      const written = write(tx => tx.putDocument(document(revision, 'other')));
      if (revision === 3) await written;
      else await expect(written).rejects.toMatchObject({ code: 'conflict' });
      expect(await stores().document.get()).toMatchObject({ sealed: revision === 3 ? 'other' : 'two' });
    });
  });

  describe('secrets', () => {
    it('adds them, lists them by name and counts them', async () => {
      const rows = ['b', 'A', 'c'].map(name => secretRow(name));
      for (const row of rows) expect(await write(tx => tx.putSecret(row))).toEqual(row);

      const [b, a, c] = rows;
      expect(await stores().secrets.list()).toEqual([a, b, c]);
      expect(await write(tx => tx.countSecrets())).toBe(3);
    });

    it('replaces one of the same name, which keeps its beginning', async () => {
      const first = secretRow('hook', { created_at: 1, updated_at: 1 });
      const second = secretRow('hook', {
        sealed: 'other',
        created_at: 2,
        updated_at: 2,
        updated_by: 'somebody',
      });
      await write(tx => tx.putSecret(first));
      const now = await write(tx => tx.putSecret(second));
      expect(now).toEqual({ ...second, created_at: 1 });
      expect(await stores().secrets.list()).toEqual([now]);
    });

    it('removes one once', async () => {
      await write(tx => tx.putSecret(secretRow('hook')));
      await write(tx => tx.putSecret(secretRow('other')));
      expect(await write(tx => tx.removeSecret('hook'))).toBe(true);
      expect(await write(tx => tx.removeSecret('hook'))).toBe(false);
      expect(await stores().secrets.list()).toEqual([secretRow('other')]);
    });

    it('does nothing when the rest of the transaction fails', async () => {
      await write(tx => tx.putSecret(secretRow('hook')));
      const failing = write(async tx => {
        await tx.putSecret(secretRow('hook', { sealed: 'other' }));
        await tx.putSecret(secretRow('new'));
        await tx.removeSecret('hook');
        throw new Error('changed my mind');
      });
      await expect(failing).rejects.toThrow('changed my mind');
      expect(await stores().secrets.list()).toEqual([secretRow('hook')]);
    });

    it('keeps workspaces separate', async () => {
      await write(tx => tx.putSecret(secretRow('hook', { sealed: 'blue' })), 'blue');
      await write(tx => tx.putSecret(secretRow('hook', { sealed: 'green' })), 'green');
      expect(await write(tx => tx.removeSecret('hook'), 'blue')).toBe(true);
      expect(await stores('blue').secrets.list()).toEqual([]);
      expect(await stores('green').secrets.list()).toEqual([secretRow('hook', { sealed: 'green' })]);
      expect(await write(tx => tx.countSecrets(), 'blue')).toBe(0);
      expect(await write(tx => tx.removeSecret('hook'))).toBe(false);
    });

    it('knows that a secret or a key needs the key ring', async () => {
      expect(await storage.hasSealedValues()).toBe(false);
      await write(tx => tx.putSecret(secretRow('hook')), 'blue');
      expect(await storage.hasSealedValues()).toBe(true);
      await write(tx => tx.removeSecret('hook'), 'blue');
      expect(await storage.hasSealedValues()).toBe(false);
      await storage.transaction(tx => tx.addKey(keyRow('first', 1)));
      expect(await storage.hasSealedValues()).toBe(true);
    });
  });

  describe('versions', () => {
    it('has none at first', async () => {
      expect(await stores().versions.last()).toBeUndefined();
      expect(await stores().versions.count()).toBe(0);
      expect(await stores().versions.list(FIRST_PAGE)).toEqual({ rows: [], total: 0 });
    });

    it('pages them newest first without their files, and hands out a whole one', async () => {
      const one = versionRow();
      const two = versionRow({ author: 'root', source: 'file', message: 'by hand', files: '{}' });
      const three = versionRow({ source: 'cli' });
      for (const row of [one, two, three]) await write(tx => tx.addVersion(row));

      const { versions } = stores();
      const { files, ...facts } = two;
      expect(await versions.list({ offset: 1, limit: 1 })).toEqual({ rows: [facts], total: 3 });
      expect((await versions.list(FIRST_PAGE)).rows.map(row => row.id)).toEqual([three.id, two.id, one.id]);
      expect(await versions.get(two.id)).toEqual({ ...facts, files });
      expect(await versions.get('unknown')).toBeUndefined();
      expect(await versions.last()).toEqual(three);
      expect(await versions.count()).toBe(3);
    });

    it('refuses an id that exists, naming it', async () => {
      const row = versionRow();
      await write(tx => tx.addVersion(row));
      const again = write(tx => tx.addVersion({ ...row, author: 'other' }));
      await expect(again).rejects.toMatchObject({
        code: 'conflict',
        message: expect.stringContaining(row.id),
      });
      expect(await stores().versions.last()).toEqual(row);
    });

    it('keeps workspaces separate', async () => {
      const row = versionRow();
      await write(tx => tx.addVersion(row), 'blue');
      await write(tx => tx.addVersion({ ...row, author: 'green' }), 'green');
      expect(await stores('blue').versions.get(row.id)).toEqual(row);
      expect(await stores('green').versions.last()).toEqual({ ...row, author: 'green' });
      expect(await stores().versions.get(row.id)).toBeUndefined();
      expect(await stores().versions.count()).toBe(0);
    });
  });

  describe('messages made by people', () => {
    it('adds one with its group and metadata, gets it and lists it among the others', async () => {
      const own = messageRow('maintenance');
      const operation = transition(incidentRow());
      await write(tx => tx.addMessage(own));
      await storage.commit(operation);

      expect(await stores().messages.get('maintenance')).toEqual(own);
      expect(await stores().messages.get('unknown')).toBeUndefined();
      expect(await stores().messages.list(FIRST_PAGE)).toEqual({ rows: [operation.message, own], total: 2 });
    });

    it('takes one without group and metadata', async () => {
      const bare = messageRow('bare', { group_name: null, metadata: null });
      await write(tx => tx.addMessage(bare));
      expect(await stores().messages.get('bare')).toEqual(bare);
    });

    it('refuses an id that exists, naming it, also when it is a notification’s', async () => {
      const operation = transition(incidentRow());
      await storage.commit(operation);
      await write(tx => tx.addMessage(messageRow('maintenance')));
      for (const id of ['maintenance', operation.message.id]) {
        const again = write(tx => tx.addMessage(messageRow(id, { text: 'another' })));
        await expect(again).rejects.toMatchObject({ code: 'conflict', message: expect.stringContaining(id) });
      }
      expect((await stores().messages.list(FIRST_PAGE)).rows.map(row => row.text)).not.toContain('another');
    });

    it('removes one and answers what it was, in its own workspace alone', async () => {
      await write(tx => tx.addMessage(messageRow('maintenance')), 'blue');
      await write(tx => tx.addMessage(messageRow('maintenance', { text: 'green' })), 'green');
      expect(await write(tx => tx.removeMessage('maintenance'), 'blue')).toEqual(messageRow('maintenance'));
      expect(await write(tx => tx.removeMessage('maintenance'), 'blue')).toBeUndefined();
      expect(await stores('blue').messages.list(FIRST_PAGE)).toEqual({ rows: [], total: 0 });
      expect(await stores('green').messages.get('maintenance')).toMatchObject({ text: 'green' });
    });
  });

  it('keeps all of it over a restart', async () => {
    const version = versionRow();
    await write(async tx => {
      await tx.putSecret(secretRow('hook'));
      await tx.addVersion(version);
      await tx.addMessage(messageRow('maintenance'));
    });
    await reopen();
    expect(await stores().secrets.list()).toEqual([secretRow('hook')]);
    expect(await stores().versions.last()).toEqual(version);
    expect(await stores().messages.get('maintenance')).toEqual(messageRow('maintenance'));
  });
});
