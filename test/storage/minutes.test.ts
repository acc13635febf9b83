import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { idFloor } from '../../src/lib/ids.ts';
import type { Storage } from '../../src/storage/storage.ts';
import type { MinutesRow } from '../../src/storage/stores/minutes.ts';
import { testClock } from '../helpers/clock.ts';
import type { TestDatabase } from './contract.ts';
import { dialects } from './dialects.ts';

const HOUR_MS = 3_600_000;
const BEGIN = Date.UTC(2026, 0, 1);

const row = (name: string, hour: number, data: string): MinutesRow => ({
  id: `${idFloor(BEGIN + hour * HOUR_MS)}-${name}`,
  hour: BEGIN + hour * HOUR_MS,
  data,
});

describe.each(dialects)('minutes on $name', dialect => {
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

  const append = (...rows: MinutesRow[]) => storage.transaction(tx => tx.in('default').appendMinutes(rows));
  const read = async (...rows: MinutesRow[]) => {
    const found = await storage.in('default').minutes.byIds(rows.map(({ id }) => id));
    return [...found].sort((one, other) => (one.id < other.id ? -1 : 1));
  };

  it('stand one behind the other in the row of their component and hour', async () => {
    const one = row('a', 0, '0,3,,5;');
    const other = row('b', 0, '0,2,~0.25;');
    await append(one, other);
    await append({ ...one, data: '1,3,,6;' }, row('a', 1, 'x'));
    await append();
    expect(await read(one, other, row('c', 0, ''))).toEqual([{ ...one, data: '0,3,,5;1,3,,6;' }, other]);
    expect(await storage.in('other').minutes.byIds([one.id])).toEqual([]);
    expect(await read()).toEqual([]);
  });

  it('are found and removed by their age, hour by hour', async () => {
    const rows = [0, 1, 2, 3].flatMap(hour => [row('a', hour, 'x'), row('b', hour, 'x')]);
    await append(...rows);
    // Minutes that no hour holds yet stay a day longer.
    const before = BEGIN + 26 * HOUR_MS;
    const { retention: ageing } = storage.in('default');
    const first = await ageing.findExpired('minutes', { before, after: '', limit: 3 });
    expect(first).toEqual({ ids: rows.slice(0, 3).map(({ id }) => id), next: rows[2]?.id });
    const rest = await ageing.findExpired('minutes', { before, after: first.next ?? '', limit: 10 });
    expect(rest).toEqual({ ids: [rows[3]?.id], next: undefined });
    const remove = (ids: readonly string[]) =>
      storage.transaction(tx => tx.in('default').removeExpired('minutes', before, ids));
    expect(await remove([...first.ids, ...rest.ids, rows[4]?.id ?? ''])).toBe(4);
    expect(await read(...rows)).toEqual(rows.slice(4));
  });
});
