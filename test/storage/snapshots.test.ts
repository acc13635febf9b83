import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Storage } from '../../src/storage/storage.ts';
import { testClock } from '../helpers/clock.ts';
import type { TestDatabase } from './contract.ts';
import { dialects } from './dialects.ts';

describe.each(dialects)('snapshots on $name', dialect => {
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

  const add = (id: string, part: number, workspace = 'default') =>
    storage.transaction(tx => tx.in(workspace).addSnapshotPart({ id, part, data: `${id}${part}` }));
  const complete = (id: string, workspace = 'default') =>
    storage.transaction(tx => tx.in(workspace).completeSnapshot({ id, data: `${id} is whole` }));
  const read = async (workspace = 'default') => {
    const { snapshots } = storage.in(workspace);
    const parts = await Promise.all([0, 1, 2].map(number => snapshots.part(number)));
    return parts.map(part => part?.data);
  };
  const nothing = [undefined, undefined, undefined];

  it('are read once they are whole, in place of the one before', async () => {
    for (const id of ['a', 'b']) {
      await add(id, 1);
      await add(id, 2);
      expect(await read()).toEqual(id === 'a' ? nothing : ['a is whole', 'a1', 'a2']);
      await complete(id);
    }
    expect(await read()).toEqual(['b is whole', 'b1', 'b2']);
    expect(await read('other')).toEqual(nothing);
  });

  it('leave what was begun and never whole to be removed, and nothing else', async () => {
    await add('a', 1);
    await complete('a');
    await add('z', 1);
    await add('z', 1, 'other');
    await add('0', 2);
    await storage.transaction(tx => tx.in('default').removePartialSnapshots());
    await complete('z', 'other');
    expect(await read()).toEqual(['a is whole', 'a1', undefined]);
    expect(await read('other')).toEqual(['z is whole', 'z1', undefined]);
    await storage.transaction(tx => tx.in('default').completeSnapshot({ id: 'z', data: 'empty' }));
    expect(await read()).toEqual(['empty', undefined, undefined]);
  });
});
