import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Storage } from '../../src/storage/storage.ts';
import { isLeaseLost, type Lease } from '../../src/storage/stores/leases.ts';
import { testClock } from '../helpers/clock.ts';
import type { TestDatabase } from './contract.ts';
import { dialects } from './dialects.ts';
import { incidentRow, transition, userRow } from './rows.ts';

const TTL_MS = 60_000;
const NAME = 'engine:default';

describe.each(dialects)('on $name', dialect => {
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

  async function take(owner = 'one', name = NAME): Promise<Lease> {
    const lease = await storage.leases.take(name, owner, TTL_MS);
    if (lease === undefined) throw new Error('another has the lease');
    return lease;
  }

  describe('a lease', () => {
    it('belongs to its first owner, who may take it again as it is', async () => {
      expect(await storage.leases.holder(NAME)).toBeUndefined();
      expect(await take()).toEqual({ name: NAME, owner: 'one', epoch: 1 });
      expect(await take()).toEqual({ name: NAME, owner: 'one', epoch: 1 });
      expect(await storage.leases.holder(NAME)).toEqual({ name: NAME, owner: 'one', epoch: 1 });
      expect(await storage.leases.holder('other')).toBeUndefined();
    });

    it('is free once it is released, and the next has a greater epoch, even if it is the same', async () => {
      await storage.leases.release(await take());
      expect(await storage.leases.holder(NAME)).toBeUndefined();
      expect(await take('one')).toMatchObject({ owner: 'one', epoch: 2 });
      await storage.leases.release(await take('one'));
      expect(await take('two')).toMatchObject({ owner: 'two', epoch: 3 });
    });

    it('counts on over a restart', async () => {
      await storage.leases.release(await take());
      await storage.close();
      storage = await database.open(clock);
      expect(await take()).toMatchObject({ epoch: 2 });
    });

    it('is prolonged and released by who has it, at this epoch, and by nobody else', async () => {
      const old = await take();
      await storage.leases.release(old);
      const present = await take();
      expect(await storage.leases.renew(old, TTL_MS)).toBe(false);
      expect(await storage.leases.renew({ ...present, owner: 'two' }, TTL_MS)).toBe(false);
      await storage.leases.release(old);
      await storage.leases.release({ ...present, owner: 'two' });
      expect(await storage.leases.renew(present, TTL_MS)).toBe(true);
      expect(await storage.leases.holder(NAME)).toEqual(present);
    });
  });

  describe('what is written under a lease', () => {
    const write = (subject: string, lease?: Lease) =>
      storage.commit(transition(incidentRow({ subject })), lease);
    const subjects = async () =>
      (await storage.in('default').incidents.open()).map(incident => incident.subject);

    it('is written while the lease is held', async () => {
      const lease = await take();
      await write('a', lease);
      await storage.transaction(tx => tx.addUser(userRow('admin')), lease);
      expect(await subjects()).toEqual(['a']);
      expect(await storage.users.count()).toBe(1);
    });

    it.each<[string, (lease: Lease) => Promise<Lease>]>([
      [
        'released',
        async lease => {
          await storage.leases.release(lease);
          return lease;
        },
      ],
      [
        'one of an epoch before',
        async lease => {
          await storage.leases.release(lease);
          await take();
          return lease;
        },
      ],
      ['that of another', async lease => ({ ...lease, owner: 'two' })],
      ['none that was ever taken', async lease => ({ ...lease, name: 'other' })],
    ])('is refused, and nothing of it happens, when the lease is %s', async (_what, lose) => {
      const lost = await lose(await take());
      const refused = await write('a', lost).catch((error: unknown) => error);
      expect(refused).toMatchObject({ code: 'conflict' });
      expect(isLeaseLost(refused)).toBe(true);

      let ran = false;
      const work = async () => {
        ran = true;
      };
      const rolledBack = await storage.transaction(work, lost).catch((error: unknown) => error);
      expect(isLeaseLost(rolledBack)).toBe(true);
      expect(ran).toBe(false);
      expect(await subjects()).toEqual([]);
    });

    it('is distinguished from a conflict of what is written', async () => {
      const lease = await take();
      await write('a', lease);
      const taken = await write('a', lease).catch((error: unknown) => error);
      expect(taken).toMatchObject({ code: 'conflict' });
      expect(isLeaseLost(taken)).toBe(false);

      await storage.leases.release(lease);
      expect(isLeaseLost(await write('a', lease).catch((error: unknown) => error))).toBe(true);
    });

    it('fails alone: what is committed at once under other leases or none is written, in its order', async () => {
      const lost = await take();
      const good = await take('one', 'other');
      await storage.leases.release(lost);
      const leases = [undefined, lost, good, undefined, lost, { ...good }, lost];
      // The first is a batch of its own, the others are the next.
      const outcomes = await Promise.allSettled(leases.map((lease, index) => write(`${index}`, lease)));
      expect(
        outcomes.map(outcome => (outcome.status === 'rejected' ? isLeaseLost(outcome.reason) : 'ok')),
      ).toEqual(['ok', true, 'ok', 'ok', true, 'ok', true]);
      expect(await subjects()).toEqual(['0', '2', '3', '5']);
    });
  });

  describe('nodes', () => {
    const node = (id: string, startedAt: number) => ({
      id,
      url: `http://${id}.example:9000`,
      version: '1.2.3',
      started_at: startedAt,
    });

    it('are listed while they run, the longest running first', async () => {
      await storage.nodes.announce(node('b', 2), TTL_MS);
      await storage.nodes.announce(node('a', 3), TTL_MS);
      await storage.nodes.announce(node('c', 1), TTL_MS);
      expect(await storage.nodes.live()).toEqual([node('c', 1), node('b', 2), node('a', 3)]);
      expect(await storage.nodes.get('a')).toEqual(node('a', 3));

      await storage.nodes.leave('a');
      await storage.nodes.leave('a');
      expect(await storage.nodes.get('a')).toBeUndefined();
      expect(await storage.nodes.live()).toEqual([node('c', 1), node('b', 2)]);
    });

    it('say anew where they are reached', async () => {
      await storage.nodes.announce(node('a', 1), TTL_MS);
      await storage.nodes.announce({ ...node('a', 1), url: 'https://a.example' }, TTL_MS);
      expect(await storage.nodes.live()).toEqual([{ ...node('a', 1), url: 'https://a.example' }]);
    });
  });
});

describe('on SQLite, which one process has alone', () => {
  let database: TestDatabase;
  let storage: Storage;
  const clock = testClock();

  beforeEach(async () => {
    const [sqlite] = dialects;
    if (sqlite === undefined) throw new Error('there is no dialect');
    database = await sqlite.create();
    storage = await database.open(clock);
  });
  afterEach(async () => {
    await storage.close();
    await database.remove();
  });

  it('a lease is the next owner’s at once, at a greater epoch', async () => {
    const old = await storage.leases.take(NAME, 'one', TTL_MS);
    expect(await storage.leases.take(NAME, 'two', TTL_MS)).toEqual({ name: NAME, owner: 'two', epoch: 2 });
    if (old === undefined) throw new Error('nobody had it');
    expect(await storage.leases.renew(old, TTL_MS)).toBe(false);
    const refused = storage.commit(transition(incidentRow()), old);
    expect(isLeaseLost(await refused.catch((error: unknown) => error))).toBe(true);
  });

  it('a lease lasts however the clock is set, until the file is opened again', async () => {
    const lease = await storage.leases.take(NAME, 'one', 1);
    if (lease === undefined) throw new Error('another has it');
    await storage.nodes.announce({ id: 'one', url: 'http://a', version: '1', started_at: 1 }, 1);
    clock.step(TTL_MS);
    await storage.commit(transition(incidentRow()), lease);
    expect(await storage.leases.renew(lease, 1)).toBe(true);

    await storage.close();
    storage = await database.open(clock);
    expect(await storage.leases.holder(NAME)).toBeUndefined();
    expect(await storage.nodes.live()).toEqual([]);
    expect(await storage.leases.take(NAME, 'one', 1)).toMatchObject({ epoch: 2 });
  });
});
