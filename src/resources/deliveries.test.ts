import { afterEach, beforeEach, expect, it } from 'vitest';
import { testClock } from '../../test/helpers/clock.ts';
import { testComponents } from '../../test/helpers/components.ts';
import { openTestStorage, type TestStorage } from '../../test/helpers/storage.ts';
import { deliveryOf, incidentRow, settle, transition } from '../../test/storage/rows.ts';
import type { WorkspaceContext } from './context.ts';
import { retryDelivery } from './deliveries.ts';

const notUsed = (): never => {
  throw new Error('not used');
};

let test: TestStorage;
beforeEach(async () => {
  test = await openTestStorage();
});
afterEach(() => test.close());

function context(requeue: WorkspaceContext['requeue']): WorkspaceContext {
  const clock = testClock();
  return {
    stores: test.storage.in('default'),
    components: testComponents(clock),
    minutes: { last: notUsed, recordedCount: notUsed },
    configuration: () =>
      Object.assign(Object.create(null), { targets: [{ settings: { id: 'hook', type: 'webhook' } }] }),
    configurationStatus: notUsed,
    configurationTexts: notUsed,
    hideAddresses: notUsed,
    isMachineShared: false,
    processes: notUsed,
    save: notUsed,
    dryRun: notUsed,
    planConfiguration: notUsed,
    backtest: notUsed,
    testSend: notUsed,
    checkTexts: notUsed,
    secrets: {
      get: notUsed,
      list: notUsed,
      put: notUsed,
      remove: notUsed,
      refresh: notUsed,
      subscribe: notUsed,
    },
    get ingestTokens() {
      return notUsed();
    },
    get users() {
      return notUsed();
    },
    keys: { list: notUsed, rotate: notUsed },
    audit: { record: notUsed, refused: notUsed },
    transaction: notUsed,
    requeue,
    keptSettings: { list: notUsed, remove: notUsed },
    removeComponent: notUsed,
    clock,
    explainer: { explain: notUsed, explainEvent: notUsed },
    previewMessage: notUsed,
    refreshSilences: notUsed,
    refreshAcknowledgement: notUsed,
    newId: notUsed,
    warningOf: notUsed,
    hold: notUsed,
    targetIsWell: notUsed,
    evaluationAgeMs: notUsed,
    evaluationCosts: notUsed,
    subscribe: notUsed,
  };
}

const ACTOR = {
  kind: 'user',
  id: 'a',
  name: 'admin',
  role: 'admin',
  token: { id: 't', expiresAt: 0 },
} as const;
const ORIGIN = { address: '127.0.0.1', requestId: 'r' };

it('refuses one that waits in its group', async () => {
  const operation = transition(incidentRow());
  const deliveries = operation.deliveries.map(row => ({ ...row, state: 'grouped' as const, group_id: 'g' }));
  await test.storage.commit({ ...operation, deliveries });
  const waiting = context(async () => ({ requeued: 0, overtaken: 0 }));
  await expect(
    retryDelivery.run(
      { actor: ACTOR, origin: ORIGIN, countChange: notUsed, context: waiting },
      { id: deliveryOf(operation) },
    ),
  ).rejects.toMatchObject({ code: 'conflict', message: expect.stringContaining('waits in its group') });
});

it('does not say of a delivery that it waits when it arrived while that was asked for', async () => {
  const operation = transition(incidentRow());
  const id = deliveryOf(operation);
  await test.storage.commit(operation);
  const late = context(async () => {
    await test.storage.commit(settle(id));
    return { requeued: 0, overtaken: 0 };
  });
  await expect(
    retryDelivery.run({ actor: ACTOR, origin: ORIGIN, countChange: notUsed, context: late }, { id }),
  ).rejects.toMatchObject({
    code: 'conflict',
    message: expect.stringContaining('has arrived'),
  });
});

it('says why an alarm was skipped, which no retry sends', async () => {
  const operation = transition(incidentRow());
  const id = deliveryOf(operation);
  await test.storage.commit(operation);
  await test.storage.commit(settle(id, { state: 'skipped', attempts: 0, lastError: 'logging off' }));
  const settled = context(async () => ({ requeued: 0, overtaken: 0 }));
  await expect(
    retryDelivery.run({ actor: ACTOR, origin: ORIGIN, countChange: notUsed, context: settled }, { id }),
  ).rejects.toMatchObject({
    code: 'conflict',
    message: `delivery '${id}' was skipped (logging off); nothing of it is sent`,
  });
});
