import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Storage, TransitionOperation } from '../../src/storage/storage.ts';
import { testClock } from '../helpers/clock.ts';
import type { TestDatabase, TestDialect } from './contract.ts';
import { closed, deliveryOf, incidentRow, transition } from './rows.ts';

/** What storage promises of deliveries that wait in groups, asked of one dialect. */
export function describeGroups(dialect: TestDialect): void {
  describe(`groups on ${dialect.name}`, () => {
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

    const stores = () => storage.in('default');
    const stateOf = async (made: TransitionOperation) =>
      (await stores().deliveries.get(deliveryOf(made)))?.state;

    async function member(group: string, subject: string): Promise<TransitionOperation> {
      const made = transition(incidentRow({ subject, group_id: group }));
      const deliveries = made.deliveries.map(row => ({
        ...row,
        state: 'grouped' as const,
        next_at: 9,
        group_id: group,
      }));
      await storage.commit({ ...made, deliveries });
      return made;
    }

    const flush = (id: string, restsUntil: number, { now = 5, onlyEnds = false } = {}): Promise<void> => {
      const group = { id, rests_until: restsUntil };
      return storage.commit({ kind: 'flush', workspace: 'default', group, onlyEnds, now });
    };

    it('keeps members out of the queue until their group is flushed', async () => {
      const [a, other, b] = [await member('A', 'a'), await member('B', 'b'), await member('A', 'c')];
      expect(await stores().deliveries.waiting('hook', '', 10)).toEqual([]);
      expect((await stores().groups.members('', 10)).map(row => row.id)).toEqual(
        [a, other, b].map(deliveryOf),
      );
      expect((await stores().groups.members(deliveryOf(a), 1)).map(row => row.id)).toEqual([
        deliveryOf(other),
      ]);
      await flush('A', 100);
      expect(await stores().deliveries.waiting('hook', '', 10)).toMatchObject([
        { id: deliveryOf(a), state: 'waiting', next_at: null, group_id: 'A' },
        { id: deliveryOf(b), state: 'waiting', next_at: null, group_id: 'A' },
      ]);
      expect(await stateOf(other)).toBe('grouped');
    });

    it('lets only ends go when asked to', async () => {
      const a = await member('A', 'a');
      await flush('A', 100, { onlyEnds: true });
      expect(await stateOf(a)).toBe('grouped');
    });

    it('remembers until when a flushed group rests, and forgets it with a later flush', async () => {
      await flush('A', 100);
      await flush('B', 200);
      expect(await stores().groups.resting()).toHaveLength(2);
      await flush('B', 300, { now: 150 });
      expect(await stores().groups.resting()).toEqual([{ id: 'B', rests_until: 300 }]);
    });

    it('skips dropped members with the end of their incident, and writes nothing when one was flushed', async () => {
      const [a, b] = [await member('A', 'a'), await member('B', 'b')];
      const endOf = (made: TransitionOperation): TransitionOperation => ({
        ...transition(closed(made.incident), { targets: [] }),
        dropped: [deliveryOf(made)],
      });
      await storage.commit(endOf(a));
      expect(await stateOf(a)).toBe('skipped');
      await flush('B', 100);
      await expect(storage.commit(endOf(b))).rejects.toMatchObject({ code: 'conflict' });
      expect(await stateOf(b)).toBe('waiting');
      expect(await stores().incidents.open()).toHaveLength(1);
    });
  });
}
