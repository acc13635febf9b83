import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Storage } from '../../src/storage/storage.ts';
import type { CommittedChange } from '../../src/storage/types.ts';
import { testClock } from '../helpers/clock.ts';
import type { TestDatabase } from './contract.ts';
import { dialects } from './dialects.ts';
import { deliveryOf, incidentRow, messageRow, secretRow, settle, transition, versionRow } from './rows.ts';

describe.each(dialects)('the committed changes of storage on $name', dialect => {
  let database: TestDatabase;
  let storage: Storage;
  let heard: CommittedChange[];

  beforeEach(async () => {
    database = await dialect.create();
    storage = await database.open(testClock());
    heard = [];
    // Those for any workspace say that something may have been missed.
    storage.subscribe(change => {
      if (change.workspace !== '*') heard.push(change);
    });
  });
  afterEach(async () => {
    await storage.close();
    await database.remove();
  });

  const change = (resource: CommittedChange['resource'], id: string): CommittedChange => ({
    workspace: 'default',
    resource,
    id,
  });

  it('name what an operation wrote, once it is written', async () => {
    const operation = transition(incidentRow(), { targets: ['hook', 'log'] });
    await storage.commit(operation);
    expect(heard.splice(0)).toEqual([
      change('incidents', operation.incident.id),
      ...operation.deliveries.map(({ id }) => change('deliveries', id)),
      change('messages', operation.message.id),
    ]);
    await storage.commit(settle(operation.deliveries[0]?.id ?? ''));
    expect(heard).toEqual([change('deliveries', operation.deliveries[0]?.id ?? '')]);
  });

  it('name nothing that was refused', async () => {
    await expect(storage.commit(settle('unknown'))).rejects.toMatchObject({ code: 'conflict' });
    const failing = storage.transaction(async tx => {
      await tx.in('default').addMessage(messageRow('note'));
      throw new Error('changed my mind');
    });
    await expect(failing).rejects.toThrow('changed my mind');
    expect(heard).toEqual([]);
  });

  it('name what a transaction changed, after its end', async () => {
    const version = versionRow();
    await storage.transaction(async tx => {
      await tx.in('default').putSecret(secretRow('hook'));
      await tx.in('default').addVersion(version);
      await tx.in('default').addMessage(messageRow('note'));
      await tx.in('other').putSecret(secretRow('hook'));
      expect(heard).toEqual([]);
    });
    expect(heard.splice(0)).toEqual([
      change('secrets', 'hook'),
      change('versions', version.id),
      change('messages', 'note'),
      { ...change('secrets', 'hook'), workspace: 'other' },
    ]);
    await storage.transaction(async tx => {
      await tx.in('default').removeSecret('hook');
      await tx.in('default').removeMessage('note');
    });
    expect(heard).toEqual([change('secrets', 'hook'), change('messages', 'note')]);
  });

  it('say many in one where a batch wrote many', async () => {
    const operations = Array.from({ length: 60 }, (_, index) =>
      transition(incidentRow({ subject: `input${index}` })),
    );
    await storage.commit(operations[0] ?? transition(incidentRow()));
    heard.splice(0);
    // The first of these may be a batch alone.
    await Promise.all(operations.slice(1).map(operation => storage.commit(operation)));
    expect(heard).toContainEqual(change('incidents', '*'));
    expect(heard).toContainEqual(change('deliveries', '*'));
    expect(heard).toContainEqual(change('messages', 'app_silent'));
    expect(heard.length).toBeLessThan(20);
  });

  it('name a lease that changes hands, for any workspace, and not one that is prolonged', async () => {
    const ofLeases: CommittedChange[] = [];
    storage.subscribe(one => {
      if (one.resource === 'leases' && one.id !== '*') ofLeases.push(one);
    });
    const changed: CommittedChange = { workspace: '*', resource: 'leases', id: 'engine:default' };
    const lease = await storage.leases.take('engine:default', 'one', 60_000);
    expect(ofLeases.splice(0)).toEqual([changed]);
    if (lease === undefined) throw new Error('another has it');
    await storage.leases.renew(lease, 60_000);
    expect(ofLeases).toEqual([]);
    await storage.leases.release(lease);
    expect(ofLeases).toEqual([changed]);
  });

  it('do no harm when a listener throws, and end with the subscription', async () => {
    const late: CommittedChange[] = [];
    storage.subscribe(() => {
      throw new Error('a listener failed');
    });
    const end = storage.subscribe(one => void late.push(one));
    end();
    const operation = transition(incidentRow());
    await storage.commit(operation);
    await storage.commit(settle(deliveryOf(operation)));
    expect(heard).toHaveLength(4);
    expect(late).toEqual([]);
  });
});
