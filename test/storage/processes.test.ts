import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { openStorage } from '../../src/storage/open.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { isLeaseLost, type Lease } from '../../src/storage/stores/leases.ts';
import { CHANGE_RESOURCES, type CommittedChange } from '../../src/storage/types.ts';
import { createPostgresDatabase, type TestPostgresDatabase } from '../helpers/postgres.ts';
import { until } from '../helpers/until.ts';
import { incidentRow, secretRow, settle, transition } from './rows.ts';

const NAME = 'engine:default';
const LONG_MS = 60_000;

let database: TestPostgresDatabase;
let one: Storage;
let two: Storage;
let outside: Client;
const undo: (() => Promise<unknown>)[] = [];

/** Two processes, as the database sees them. */
beforeEach(async () => {
  database = await createPostgresDatabase();
  undo.push(database.remove);
  [one, two] = await Promise.all([open(), open()]);
  outside = new Client(database.url);
  outside.on('error', () => {});
  await outside.connect();
  undo.push(() => outside.end());
});
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

async function open(): Promise<Storage> {
  const dataFolder = await mkdtemp(join(tmpdir(), 'headgate-processes-'));
  undo.push(() => rm(dataFolder, { recursive: true, force: true }));
  const storage = await openStorage({
    url: database.url,
    dataFolder,
    logger: silentLogger,
    clock: systemClock,
  });
  undo.push(() => storage.close());
  return storage;
}

async function take(storage: Storage, owner: string, ttlMs: number): Promise<Lease> {
  const lease = await storage.leases.take(NAME, owner, ttlMs);
  if (lease === undefined) throw new Error('another has the lease');
  return lease;
}

/** Tries until the lease is free, as a process that stands by does. */
async function takeOver(storage: Storage, owner: string): Promise<Lease> {
  let lease: Lease | undefined;
  await until(async () => {
    lease = await storage.leases.take(NAME, owner, LONG_MS).catch(() => undefined);
    return lease !== undefined;
  }, 'a takeover');
  if (lease === undefined) throw new Error('nobody took over');
  return lease;
}

const isOver = async (): Promise<boolean> => (await two.leases.holder(NAME)) === undefined;
const write = (storage: Storage, subject: string, lease?: Lease) =>
  storage.commit(transition(incidentRow({ subject }), { targets: [] }), lease);
const subjects = async (storage: Storage) =>
  (await storage.in('default').incidents.open()).map(incident => incident.subject);
const failureOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  );

/** Something that a test lets happen. */
function gate(): { readonly opened: Promise<void>; open(): void } {
  let open = (): void => {};
  const opened = new Promise<void>(resolve => {
    open = resolve;
  });
  return { opened, open };
}

async function isWaiting(pattern: string): Promise<boolean> {
  // Within a transaction, what was seen at the first look would be seen for ever.
  await outside.query('select pg_stat_clear_snapshot()');
  const { rowCount } = await outside.query(
    "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like $1",
    [pattern],
  );
  return (rowCount ?? 0) > 0;
}

describe('two processes on one PostgreSQL', () => {
  it('both write, each reads what the other wrote, and what collides is refused', async () => {
    const both = Array.from({ length: 200 }, (_, index) => write(index % 2 === 0 ? one : two, `${index}`));
    await Promise.all(both);
    expect(await subjects(one)).toHaveLength(200);
    expect((await subjects(two)).sort()).toEqual((await subjects(one)).sort());
    await expect(write(two, '0')).rejects.toMatchObject({ code: 'conflict' });
  });

  it('administer one after the other: of two that both want to be first one is', async () => {
    const becomeFirst = (storage: Storage, value: string) =>
      storage.transaction(async tx => {
        const known = await tx.instanceValue('first');
        if (known === undefined) await tx.setInstanceValue('first', value);
        return known ?? value;
      });
    const [first, second] = await Promise.all([becomeFirst(one, 'one'), becomeFirst(two, 'two')]);
    expect(first).toBe(second);
  });

  it('see each other while they run, by the clock of the database', async () => {
    const node = (id: string) => ({ id, url: `http://${id}`, version: '1', started_at: 1 });
    await one.nodes.announce(node('one'), 300);
    await two.nodes.announce(node('two'), LONG_MS);
    expect(await one.nodes.live()).toEqual([node('one'), node('two')]);
    await until(async () => (await two.nodes.get('one')) === undefined, 'the end of one');
    expect(await two.nodes.live()).toEqual([node('two')]);

    await two.nodes.announce(node('two'), LONG_MS);
    const { rows } = await outside.query('select id from nodes');
    expect(rows).toEqual([{ id: 'two' }]);
  });
});

describe('a lease on PostgreSQL', () => {
  it('is refused to others while it is held, and theirs once it is over, at a greater epoch', async () => {
    await take(one, 'one', 500);
    expect(await two.leases.take(NAME, 'two', LONG_MS)).toBeUndefined();
    expect(await two.leases.holder(NAME)).toMatchObject({ owner: 'one', epoch: 1 });
    await until(isOver, 'the end of the lease');
    expect(await two.leases.take(NAME, 'two', LONG_MS)).toEqual({ name: NAME, owner: 'two', epoch: 2 });
    expect(await one.leases.take(NAME, 'one', LONG_MS)).toBeUndefined();
  });

  it('is one owner’s when many try to take it at once', async () => {
    const asked = Array.from({ length: 20 }, (_, index) =>
      (index % 2 === 0 ? one : two).leases.take(NAME, `owner ${index}`, LONG_MS),
    );
    expect((await Promise.all(asked)).filter(lease => lease !== undefined)).toHaveLength(1);
  });

  it('that is over is not prolonged and lets nothing be written, though nobody has taken it', async () => {
    const lease = await take(one, 'one', 100);
    await until(isOver, 'the end of the lease');
    expect(isLeaseLost(await failureOf(write(one, 'late', lease)))).toBe(true);
    expect(isLeaseLost(await failureOf(one.transaction(async () => {}, lease)))).toBe(true);
    expect(await one.leases.renew(lease, LONG_MS)).toBe(false);
    expect(await subjects(two)).toEqual([]);
    expect(await take(one, 'one', LONG_MS)).toMatchObject({ owner: 'one', epoch: 2 });
  });

  it('lasts when it is prolonged, also while a transaction is open', async () => {
    const lease = await take(one, 'one', 2_000);
    const { opened, open: end } = gate();
    const administration = one.transaction(async tx => {
      await tx.setInstanceValue('a', 'b');
      await opened;
    });
    expect(await one.leases.renew(lease, LONG_MS)).toBe(true);
    end();
    await administration;
    expect(await one.leases.holder(NAME)).toEqual(lease);
  });

  it('is taken over only when what is being written under it has ended', async () => {
    const lease = await take(one, 'one', 300);
    const { opened, open: end } = gate();
    const writing = one.transaction(async tx => {
      await tx.in('default').putSecret(secretRow('last'));
      await opened;
    }, lease);
    await until(isOver, 'the end of the lease');
    const taking = two.leases.take(NAME, 'two', LONG_MS);
    await until(() => isWaiting('%leases%'), 'the wait of the takeover');
    expect(await two.in('default').secrets.list()).toEqual([]);
    end();
    await writing;
    expect(await taking).toMatchObject({ owner: 'two', epoch: 2 });
    expect(await two.in('default').secrets.list()).toHaveLength(1);
  });

  it('that is being taken over makes a commit wait, and then refuses it', async () => {
    const lease = await take(one, 'one', LONG_MS);
    await outside.query("begin; update leases set owner = 'two', epoch = epoch + 1");
    const late = failureOf(write(one, 'late', lease));
    await until(() => isWaiting('%pg_notify%'), 'the wait of the commit');
    await outside.query('commit');
    expect(isLeaseLost(await late)).toBe(true);
    expect(await subjects(two)).toEqual([]);
  });

  it('lets nothing be written by the old owner once the new one knows that it is his', async () => {
    for (let round = 0; round < 8; round++) {
      const lease = await takeOver(one, `one ${round}`);
      await one.leases.renew(lease, 150);
      const streams = Array.from({ length: 4 }, async (_, stream) => {
        for (let count = 0; ; count++) {
          const failure = await failureOf(write(one, `${round}:${stream}:${count}`, lease));
          if (failure !== undefined) return failure;
        }
      });
      const next = await takeOver(two, 'two');
      const seen = (await subjects(two)).length;
      const failures = await Promise.all(streams);
      expect(failures.map(isLeaseLost)).toEqual([true, true, true, true]);
      expect((await subjects(two)).length).toBe(seen);
      expect(next.epoch).toBe(lease.epoch + 1);
      await two.leases.release(next);
    }
  });

  it('of a process that froze amid a transaction is another’s although it never ends', async () => {
    const lease = await take(one, 'one', 300);
    const { opened, open: wake } = gate();
    const frozen = failureOf(
      one.transaction(async tx => {
        await tx.in('default').putSecret(secretRow('late'));
        await opened;
      }, lease),
    );
    await takeOver(two, 'two');
    wake();
    expect(await frozen).toMatchObject({ code: 'unavailable' });
    expect(await two.in('default').secrets.list()).toEqual([]);
    expect(isLeaseLost(await failureOf(write(one, 'late', lease)))).toBe(true);
  });

  it('goes from a process that is older than the tables to those that are not', async () => {
    const lease = await take(one, 'one', LONG_MS);
    await outside.query("insert into migrations values ('29990101000000-later', 'later')");
    const refusal = {
      code: 'conflict',
      message: expect.stringMatching(/newer version.*29990101000000-later.*upgrade/),
    };
    await expect(two.leases.take(NAME, 'two', LONG_MS)).rejects.toMatchObject(refusal);
    expect(await one.leases.holder(NAME)).toEqual(lease);
    await expect(one.leases.renew(lease, LONG_MS)).rejects.toMatchObject(refusal);
    expect(await one.leases.holder(NAME)).toBeUndefined();
    expect(isLeaseLost(await failureOf(write(one, 'late', lease)))).toBe(true);
  });
});

describe('changes of another process', () => {
  let heard: CommittedChange[];
  const isMissed = (change: CommittedChange): boolean => change.workspace === '*' && change.id === '*';

  /** Listens in the second process, from the moment when it really does. */
  beforeEach(async () => {
    heard = [];
    two.subscribe(change => void heard.push(change));
    await until(() => heard.some(isMissed), 'the first listening');
    heard.splice(0);
  });

  const hears = (wanted: Partial<CommittedChange>, times = 1) =>
    until(
      () =>
        heard.filter(({ resource: noun, id }) => noun === wanted.resource && (wanted.id ?? id) === id)
          .length === times,
      `${wanted.resource} ${wanted.id}`,
    );

  it('come from commits, transactions and leases', async () => {
    const operation = transition(incidentRow());
    await one.commit(operation);
    await one.transaction(tx => tx.in('default').putSecret(secretRow('hook')));
    await take(one, 'one', LONG_MS);
    await hears({ resource: 'leases', id: NAME });
    expect(heard).toEqual([
      { workspace: 'default', resource: 'incidents', id: operation.incident.id },
      { workspace: 'default', resource: 'deliveries', id: operation.deliveries[0]?.id },
      { workspace: 'default', resource: 'messages', id: operation.message.id },
      { workspace: 'default', resource: 'secrets', id: 'hook' },
      { workspace: '*', resource: 'leases', id: NAME },
    ]);
  });

  it('come once, and one’s own not again by way of the database', async () => {
    await write(two, 'own');
    await one.transaction(tx => tx.in('default').putSecret(secretRow('last')));
    await hears({ resource: 'secrets', id: 'last' });
    expect(heard.filter(change => change.resource === 'incidents')).toHaveLength(1);
  });

  it('do not come of what was rolled back or refused', async () => {
    await failureOf(
      one.transaction(async tx => {
        await tx.in('default').putSecret(secretRow('no'));
        throw new Error('changed my mind');
      }),
    );
    await failureOf(one.commit(settle('unknown')));
    await one.transaction(tx => tx.in('default').putSecret(secretRow('yes')));
    await hears({ resource: 'secrets', id: 'yes' });
    expect(heard).toHaveLength(1);
  });

  it('come as one of many where there are too many to name', async () => {
    const targets = Array.from({ length: 300 }, (_, index) => `target${index}`);
    await one.commit(transition(incidentRow(), { targets }));
    await hears({ resource: 'deliveries', id: '*' });
    expect(heard).toHaveLength(3);
  });

  it('come again after the connection was lost, with word that some may have been missed', async () => {
    for (let round = 1; round <= 2; round++) {
      const { rowCount } = await outside.query(
        "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and query in ('select 1', 'listen headgate')",
      );
      expect(rowCount).toBe(1);
      await write(one, `missed ${round}`);
      await until(
        () => heard.filter(isMissed).length === CHANGE_RESOURCES.length * round,
        'word of what may be missed',
      );
      expect(await subjects(two)).toContain(`missed ${round}`);
      await one.transaction(tx => tx.in('default').putSecret(secretRow(`heard ${round}`)));
      await hears({ resource: 'secrets', id: `heard ${round}` });
    }
  });

  it('are passed over when they are of a kind that is not known, and do no harm', async () => {
    for (const notice of [
      '',
      'rubbish',
      '[1',
      '{"a":1}',
      '["x",5,null,["default","unknown","1"],["default","incidents",7],["default","incidents","7"]]',
    ])
      await outside.query('select pg_notify($1, $2)', ['headgate', notice]);
    await hears({ resource: 'incidents', id: '7' });
    expect(heard).toHaveLength(1);
  });

  it('end with the storage, and its connections with them', async () => {
    await two.close();
    await one.close();
    await until(async () => {
      const { rowCount } = await outside.query(
        'select 1 from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
      );
      return rowCount === 0;
    }, 'the end of the connections');
  });
});
