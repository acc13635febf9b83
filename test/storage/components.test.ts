import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Storage } from '../../src/storage/storage.ts';
import type { ComponentRow } from '../../src/storage/stores/components.ts';
import { testClock } from '../helpers/clock.ts';
import type { TestDatabase } from './contract.ts';
import { dialects } from './dialects.ts';
import { componentRow } from './rows.ts';

describe.each(dialects)('ids of components on $name', dialect => {
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

  const add = (...rows: ComponentRow[]) => storage.transaction(tx => tx.in('default').addComponents(rows));
  const read = async (...identities: string[]) => {
    const found = await storage.in('default').components.byIdentities(identities);
    return [...found].sort((one, other) => (one.identity < other.identity ? -1 : 1));
  };

  it('are found by what they are of, over a restart, in their workspace alone', async () => {
    const [one, other] = [componentRow('a'), componentRow('b')];
    await add(one, other);
    await add();
    await storage.close();
    storage = await database.open(testClock());
    expect(await read('a', 'b', 'c')).toEqual([one, other]);
    expect(await read()).toEqual([]);
    expect(await storage.in('default').components.count()).toBe(2);
    expect(await storage.in('other').components.byIdentities(['a', 'b'])).toEqual([]);
    expect(await storage.in('other').components.count()).toBe(0);
  });

  it('belong to one of each kind', async () => {
    await add(componentRow('a', { id: 'in' }), componentRow('b', { id: 'in', kind: 'output' }));
    const taken = { code: 'conflict' };
    await expect(add(componentRow('a', { id: 'other' }))).rejects.toMatchObject(taken);
    await expect(
      add(componentRow('c', { id: 'other' }), componentRow('d', { id: 'in' })),
    ).rejects.toMatchObject(taken);
    await storage.transaction(async tx => {
      await tx.in('other').addComponents([componentRow('a', { id: 'in' })]);
      const found = await tx.in('default').componentsByIds(['in', 'none']);
      expect(found.map(({ identity }) => identity).sort()).toEqual(['a', 'b']);
      expect(await tx.in('default').componentsByIds([])).toEqual([]);
      expect(await tx.in('default').componentsByIdentities(['c', 'd'])).toEqual([]);
    });
  });

  it('make room in the order in which what they are of was last there', async () => {
    const rows = [10, 20, 30, 40].map((seenAt, at) => componentRow(`c${at}`, { seen_at: seenAt }));
    await add(...rows);
    await storage.transaction(async tx => {
      const stores = tx.in('default');
      await stores.touchComponents(['c0', 'c3', 'none'], { at: 50, before: 40 });
      await stores.touchComponents([], { at: 60, before: 60 });
      await tx.in('other').touchComponents(['c1'], { at: 70, before: 70 });
      await tx.in('other').removeOldestComponents(4);
      await stores.removeOldestComponents(2);
    });
    const left = await read('c0', 'c1', 'c2', 'c3');
    expect(left).toEqual([{ ...rows[0], seen_at: 50 }, rows[3]]);
  });
});
