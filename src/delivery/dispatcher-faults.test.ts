import { afterEach, beforeEach, expect, it } from 'vitest';
import { type TestClock, testClock } from '../../test/helpers/clock.ts';
import { noDial } from '../../test/helpers/no-http.ts';
import { openTestStorage, type TestStorage } from '../../test/helpers/storage.ts';
import { closing, type MadeTransition, opening } from '../../test/helpers/transitions.ts';
import { until } from '../../test/helpers/until.ts';
import { systemClock } from '../lib/clock.ts';
import { AppError } from '../lib/errors.ts';
import { monotonicIds } from '../lib/ids.ts';
import { silentLogger } from '../lib/logger.ts';
import type { StorageOperation } from '../storage/operations/operation.ts';
import type { Storage } from '../storage/storage.ts';
import type { DeliveryRow, DeliveryStore } from '../storage/stores/deliveries.ts';
import type { Outcome } from '../targets/outcome.ts';
import type { Target } from '../targets/target.ts';
import { createDispatcher, type Dispatcher } from './dispatcher.ts';
import { createResultBus } from './results.ts';

const SENT: Outcome = { kind: 'sent', httpStatus: 200 };
const RETRY: Outcome = { kind: 'retry', reason: 'status 503', httpStatus: 503 };
const REFUSED: Outcome = { kind: 'refused', reason: 'status 404', httpStatus: 404 };
const HOUR = 3_600_000;

let store: TestStorage;
let clock: TestClock;
let dispatcher: Dispatcher;
/** What arrived, as `subject status`. */
let received: string[];
let healthChanges: string[];
let answer: (delivery: string) => Outcome | Promise<Outcome>;
/** Stands before each write and each read of what waits. */
let writing: (operation: StorageOperation, write: () => Promise<void>) => Promise<void>;
let reading: DeliveryStore['waiting'] | undefined;

beforeEach(async () => {
  store = await openTestStorage();
  clock = testClock();
  received = [];
  healthChanges = [];
  answer = () => SENT;
  writing = (_operation, write) => write();
  reading = undefined;
  dispatcher = open();
});
afterEach(async () => {
  await dispatcher.stop();
  await store.close();
});

function open(
  failing: readonly string[] = [],
  retrySchedule: readonly number[] = [0, 5000, 30_000],
): Dispatcher {
  const storage: Storage = {
    ...store.storage,
    in(workspace) {
      const stores = store.storage.in(workspace);
      const waiting: DeliveryStore['waiting'] = (...query) =>
        (reading ?? stores.deliveries.waiting)(...query);
      return { ...stores, deliveries: { ...stores.deliveries, waiting } };
    },
    commit: operation => writing(operation, () => store.storage.commit(operation)),
  };
  const results = createResultBus();
  results.subscribe(result => {
    if (result.kind === 'health') healthChanges.push(`${result.target} ${result.change.state}`);
  });
  return createDispatcher({
    workspace: 'default',
    storage,
    http: { request: () => Promise.reject(new Error('not used')), close: async () => {} },
    dial: noDial,
    secretOf: () => undefined,
    clock,
    ids: monotonicIds(systemClock),
    logger: silentLogger,
    random: () => 0.5,
    logFolder: store.folder,
    failing: new Map(failing.map(id => [id, 'failing'])),
    paused: new Map(),
    results,
    settings: () => ({ retrySchedule, instanceName: 'gate', concurrency: 256, mostWaiting: 1000 }),
  });
}

function hook(atOnce = 5, id = 'hook'): Target {
  return {
    settings: { id, type: 'test', systemFields: [] },
    concurrency: atOnce,
    fallback: undefined,
    batching: undefined,
    bulletinText: () => undefined,
    async send([event], { deliveryId }) {
      const outcome = await answer(deliveryId);
      received.push(`${event?.status} ${outcome.kind}`);
      return outcome;
    },
  };
}

async function commit(made: MadeTransition): Promise<MadeTransition> {
  await store.storage.commit(made.operation);
  dispatcher.enqueue(made.operation.deliveries, made.event);
  return made;
}

async function stored(made: MadeTransition): Promise<DeliveryRow> {
  const row = await store.storage.in('default').deliveries.get(made.operation.deliveries[0]?.id ?? '');
  if (row === undefined) throw new Error('the delivery is not in the store');
  return row;
}

const settled = (made: MadeTransition, state: DeliveryRow['state']): Promise<void> =>
  until(async () => (await stored(made)).state === state, `state ${state}`);

async function requeue(made: MadeTransition): Promise<void> {
  const filter = { states: ['waiting', 'refused', 'exhausted'] as const, id: (await stored(made)).id };
  await store.storage.transaction(tx =>
    tx.in('default').requeue(filter, { now: clock.now(), after: '', limit: 10 }),
  );
  dispatcher.reload(['hook']);
}

it('tries an alarm again, and before its end, although its failure was never recorded', async () => {
  answer = () => RETRY;
  let isLost = true;
  writing = async (operation, write) => {
    await write();
    if (operation.kind !== 'settle' || !isLost) return;
    isLost = false;
    throw new AppError('unavailable', 'the line was cut');
  };
  dispatcher.configure([hook()]);
  const alarm = await commit(opening());
  const end = await commit(closing(alarm));
  await until(() => !isLost);
  answer = () => SENT;
  await clock.advance(1000);
  await until(async () => (await stored(alarm)).attempts === 1);
  await clock.advance(5000);
  await settled(alarm, 'sent');
  await settled(end, 'sent');
  expect(received).toEqual(['ALARM retry', 'ALARM sent', 'OK sent']);
});

it.each([
  ['that failed when it was started', ['hook']],
  ['that has failed since', []],
])('tells again that a target fails %s, was removed and came back', async (_when, failing) => {
  await dispatcher.stop();
  dispatcher = open(failing);
  answer = () => REFUSED;
  dispatcher.configure([hook()]);
  await settled(await commit(opening({ subject: 'a' })), 'refused');
  dispatcher.configure([]);
  dispatcher.configure([hook()]);
  await settled(await commit(opening({ subject: 'b' })), 'refused');
  const expected = [...(failing.length > 0 ? [] : ['hook failing']), 'hook failing'];
  await until(() => healthChanges.length >= expected.length);
  expect(healthChanges).toEqual(expected);
});

it('reports again that a target fails which came back while it was still sent its ends', async () => {
  answer = () => REFUSED;
  dispatcher.configure([hook()]);
  await settled(await commit(opening({ subject: 'a' })), 'refused');
  dispatcher.configure([], [hook()]);
  dispatcher.configure([hook()]);
  await settled(await commit(opening({ subject: 'b' })), 'refused');
  await until(() => healthChanges.length > 1);
  expect(healthChanges).toEqual(['hook failing', 'hook failing']);
});

it('tries at once what a person asks for while waiting deliveries are being read', async () => {
  await dispatcher.stop();
  dispatcher = open([], [0, HOUR]);
  answer = () => RETRY;
  dispatcher.configure([hook()]);
  const made = await commit(opening());
  await until(async () => (await stored(made)).attempts === 1);
  await dispatcher.stop();
  answer = () => SENT;
  dispatcher = open([], [0, HOUR]);
  // An answer of the store from before the person asked.
  const stale = await store.storage.in('default').deliveries.waiting('hook', '', 10);
  let give = (): void => {};
  reading = () =>
    new Promise(resolve => {
      give = () => resolve(stale);
    });
  dispatcher.configure([hook()]);
  await clock.advance(0);
  reading = undefined;
  await requeue(made);
  give();
  await settled(made, 'sent');
});

it('lets no end pass the alarm that a person puts back while the store cannot be read', async () => {
  answer = () => REFUSED;
  dispatcher.configure([hook()]);
  const alarm = await commit(opening());
  await settled(alarm, 'refused');
  let isUp = false;
  reading = (...query) => {
    if (isUp) return store.storage.in('default').deliveries.waiting(...query);
    return Promise.reject(new AppError('unavailable', 'busy'));
  };
  answer = () => SENT;
  await requeue(alarm);
  await clock.advance(10);
  const end = await commit(closing(alarm));
  await clock.advance(10);
  for (let read = 0; read < 3; read++) await stored(end);
  expect(received).toEqual(['ALARM refused']);
  isUp = true;
  await clock.advance(2000);
  await settled(end, 'sent');
  expect(received).toEqual(['ALARM refused', 'ALARM sent', 'OK sent']);
});

it('keeps a long wait over a restart also after a person has put the delivery back', async () => {
  const { operation, event } = opening();
  const deliveries = operation.deliveries.map(row => ({
    ...row,
    attempts: 7,
    retried_from: 6,
    next_at: clock.now() + 4 * HOUR,
  }));
  await store.storage.commit({ ...operation, deliveries });
  await dispatcher.stop();
  dispatcher = open([], [0, 4 * HOUR]);
  let answered: Promise<readonly DeliveryRow[]> | undefined;
  reading = (...query) => {
    answered = store.storage.in('default').deliveries.waiting(...query);
    return answered;
  };
  dispatcher.configure([hook()]);
  await until(() => answered !== undefined);
  await answered;
  await clock.advance(1);
  await clock.advance(3 * HOUR);
  // Whatever is being sent has been read by then.
  for (let read = 0; read < 3; read++) await stored({ operation, event });
  expect(received).toEqual([]);
  await clock.advance(HOUR + 1);
  await settled({ operation, event }, 'sent');
});
