import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Storage } from '../../src/storage/storage.ts';
import type { IngestTokenRow } from '../../src/storage/stores/ingest-tokens.ts';
import type { CommittedChange } from '../../src/storage/types.ts';
import { testClock } from '../helpers/clock.ts';
import type { TestDatabase, TestDialect } from './contract.ts';
import { dialects } from './dialects.ts';
import { ingestTokenRow as row } from './rows.ts';

const NOW = Date.UTC(2026, 0, 1);

/** The contract of ingest tokens, for one dialect. */
export function describeIngestTokens(dialect: TestDialect): void {
  describe(`ingest tokens on ${dialect.name}`, () => {
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

    const list = (workspace = 'default') => storage.in(workspace).ingestTokens.list();
    const add = (token: IngestTokenRow, workspace = 'default') =>
      storage.transaction(tx => tx.in(workspace).addIngestToken(token));

    it('are stored by workspace and id, each id once', async () => {
      const one = row('one', { description: 'Zürich', expires_at: NOW + 5, last_used_at: NOW + 1 });
      await add(row('two'));
      await add(one);
      await add(row('one'), 'other');
      expect(await list()).toEqual([one, row('two')]);
      expect(await list('other')).toEqual([row('one')]);
      await expect(add(row('one'))).rejects.toMatchObject({ code: 'conflict' });
      expect(await storage.transaction(tx => tx.in('default').countIngestTokens())).toBe(2);
    });

    it('change only in the given columns, and publish nothing for one that is not there', async () => {
      await add(row('one', { expires_at: NOW }));
      await add(row('one'), 'other');
      const change = (id: string, facts: Partial<IngestTokenRow>) =>
        storage.transaction(tx => tx.in('default').updateIngestToken(id, facts));
      expect(await change('one', { enabled: 0 })).toEqual(row('one', { enabled: 0, expires_at: NOW }));
      expect(await change('one', { expires_at: null, description: 'd' })).toEqual(
        row('one', { enabled: 0, description: 'd' }),
      );
      expect(await change('nobody', { enabled: 0 })).toBeUndefined();
      expect(await list('other')).toEqual([row('one')]);
    });

    it('keep the digest before for a time or not at all, and never the one before that', async () => {
      await add(row('one'));
      const rotate = (digest: string, formerEndsAt: number | null) =>
        storage.transaction(tx =>
          tx.in('default').rotateIngestToken('one', { digest, issued_at: NOW + 1, formerEndsAt }),
        );
      const second = { digest: 'second', issued_at: NOW + 1 };
      const former = { former_digest: 'digest of one', former_ends_at: NOW + 9 };
      expect(await rotate('second', NOW + 9)).toEqual(row('one', { ...second, ...former }));
      expect(await rotate('third', NOW + 8)).toMatchObject({ digest: 'third', former_digest: 'second' });
      expect(await rotate('fourth', null)).toEqual(row('one', { digest: 'fourth', issued_at: NOW + 1 }));
    });

    it('answer what was removed, once', async () => {
      await add(row('one'));
      const remove = () => storage.transaction(tx => tx.in('default').removeIngestToken('one'));
      expect([await remove(), await remove()]).toEqual([row('one'), undefined]);
      expect(await list()).toEqual([]);
    });

    it('record the latest use, in any order', async () => {
      for (const id of ['one', 'two']) await add(row(id));
      const use = (...uses: { id: string; at: number }[]) =>
        storage.transaction(tx => tx.in('default').recordIngestTokenUses(uses));
      await use({ id: 'one', at: NOW + 2 }, { id: 'two', at: NOW + 1 }, { id: 'nobody', at: NOW });
      await use({ id: 'one', at: NOW + 1 }, { id: 'two', at: NOW + 3 });
      expect((await list()).map(token => token.last_used_at)).toEqual([NOW + 2, NOW + 3]);
    });

    it('publish their changes, and not their uses', async () => {
      const heard: CommittedChange[] = [];
      storage.subscribe(change => {
        if (change.workspace !== '*') heard.push(change);
      });
      const change: CommittedChange = { workspace: 'default', resource: 'ingest-tokens', id: 'one' };
      await add(row('one'));
      const turn = { digest: 'second', issued_at: NOW, formerEndsAt: null };
      await storage.transaction(tx => tx.in('default').updateIngestToken('one', { enabled: 0 }));
      await storage.transaction(tx => tx.in('default').rotateIngestToken('one', turn));
      await storage.transaction(tx => tx.in('default').recordIngestTokenUses([{ id: 'one', at: NOW }]));
      await storage.transaction(tx => tx.in('default').removeIngestToken('one'));
      expect(heard).toEqual([change, change, change, change]);
    });
  });
}

for (const dialect of dialects) describeIngestTokens(dialect);
