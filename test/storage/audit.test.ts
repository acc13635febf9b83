import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Storage } from '../../src/storage/storage.ts';
import { testClock } from '../helpers/clock.ts';
import type { TestDatabase } from './contract.ts';
import { dialects } from './dialects.ts';
import { auditRow } from './rows.ts';

const ALL = { offset: 0, limit: 100 };

describe.each(dialects)('the audit of storage on $name', dialect => {
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

  const commit = (facts: Parameters<typeof auditRow>[0], workspace = 'default') =>
    storage.commit({ kind: 'audit', workspace, row: auditRow(facts) });
  const targets = async (filter: object, page = ALL) => {
    const { rows, total } = await storage.in('default').audit.list(filter, page);
    return [rows.map(({ target }) => target), total];
  };

  it('is listed newest first, by workspace, actor, action, target, result and time', async () => {
    await commit({ target: 'a' });
    await commit({ target: 'b', actor: 'bob' });
    await commit({ target: 'c', action: 'targets.update', result: 'refused' });
    await commit({ target: 'd' }, 'other');
    expect(await targets({})).toEqual([['c', 'b', 'a'], 3]);
    expect(await targets({ actor: 'bob' })).toEqual([['b'], 1]);
    expect(await targets({ action: 'targets.update' })).toEqual([['c'], 1]);
    expect(await targets({ result: 'ok' })).toEqual([['b', 'a'], 2]);
    expect(await targets({ target: 'a', actor: 'admin' })).toEqual([['a'], 1]);
    expect(await targets({ until: Date.UTC(2000, 0, 1) })).toEqual([[], 0]);
    expect(await targets({ since: Date.UTC(2000, 0, 1) }, { offset: 1, limit: 1 })).toEqual([['b'], 3]);
  });

  it('keeps every column, and refuses an entry that is there', async () => {
    const row = auditRow({ count: 7, reason: 'roles, disabled' });
    await storage.commit({ kind: 'audit', workspace: 'default', row });
    expect((await storage.in('default').audit.list({}, ALL)).rows).toEqual([row]);
    const again = storage.commit({ kind: 'audit', workspace: 'default', row });
    await expect(again).rejects.toMatchObject({ code: 'conflict' });
  });

  it('removes what is older than its retention, and nothing else', async () => {
    const old = auditRow({ target: 'old' });
    await storage.commit({ kind: 'audit', workspace: 'default', row: old });
    const before = old.created_at + 1;
    await commit({ target: 'young', created_at: before });
    const { ids } = await storage
      .in('default')
      .retention.findExpired('audit', { before: before + 10_000, after: '', limit: 10 });
    expect(ids).toHaveLength(2);
    expect(await storage.transaction(tx => tx.in('default').removeExpired('audit', before, ids))).toBe(1);
    expect(await targets({})).toEqual([['young'], 1]);
  });
});
