import { afterEach, beforeEach, expect, it } from 'vitest';
import { type TestClock, testClock } from '../../test/helpers/clock.ts';
import { eventually } from '../../test/helpers/eventually.ts';
import { openTestStorage, type TestStorage } from '../../test/helpers/storage.ts';
import { closing, type MadeTransition, opening } from '../../test/helpers/transitions.ts';
import type { HeadgateEvent } from '../events/event.ts';
import { silentLogger } from '../lib/logger.ts';
import type { DeliveryRow } from '../storage/storage.ts';
import type { Outcome } from '../targets/outcome.ts';
import type { Target } from '../targets/target.ts';
import { createLanes, type Lanes } from './lanes.ts';

const SENT: Outcome = { kind: 'sent', httpStatus: 200 };
const RETRY: Outcome = { kind: 'retry', reason: 'status 503', httpStatus: 503 };
const REFUSED: Outcome = { kind: 'refused', reason: 'status 404', httpStatus: 404 };

interface Received {
  readonly target: string;
  readonly id: string;
  readonly event: HeadgateEvent;
}

let store: TestStorage;
let clock: TestClock;
let lanes: Lanes;
let received: Received[];

beforeEach(async () => {
  store = await openTestStorage();
  clock = testClock();
  received = [];
  lanes = open();
});

afterEach(async () => {
  await lanes.stop();
  await store.close();
});

function open(): Lanes {
  return createLanes({
    workspace: 'default',
    storage: store.storage,
    http: { request: () => Promise.reject(new Error('not used')), close: async () => {} },
    clock,
    logger: silentLogger,
    random: () => 0.5,
    logFolder: store.folder,
    settings: () => ({ retrySchedule: [0, 5000, 30_000], instanceName: 'gate' }),
  });
}

/** A target that answers as told; undefined means that it does not answer until the attempt is aborted. */
function target(id: string, answer: (event: HeadgateEvent) => Outcome | undefined, concurrency = 5): Target {
  return {
    settings: { id, type: 'test', systemFields: ['cribl_host', 'cribl_pipe'] },
    concurrency,
    bulletinText: () => undefined,
    send(events, context) {
      const [event] = events;
      if (event === undefined) throw new Error('nothing to send');
      received.push({ target: id, id: context.deliveryId, event });
      const outcome = answer(event);
      if (outcome !== undefined) return Promise.resolve(outcome);
      return new Promise(resolve => {
        context.signal.addEventListener('abort', () => resolve({ kind: 'retry', reason: 'aborted' }));
      });
    },
  };
}

async function commit(made: MadeTransition): Promise<MadeTransition> {
  await store.storage.commit(made.operation);
  lanes.enqueue(made.operation.deliveries, made.event);
  return made;
}

async function stored(made: MadeTransition): Promise<DeliveryRow> {
  const row = await store.storage.in('default').deliveries.get(made.operation.deliveries[0]?.id ?? '');
  if (row === undefined) throw new Error('the delivery is not in the store');
  return row;
}

const settled = (made: MadeTransition, state: DeliveryRow['state']): Promise<void> =>
  eventually(async () => (await stored(made)).state === state, `state ${state}`);

it('sends an event with its system fields and without internal ones, and books it', async () => {
  lanes.configure([target('hook', () => SENT)]);
  const made = await commit(opening());
  await settled(made, 'sent');
  expect(received).toHaveLength(1);
  expect(received[0]?.id).toBe(made.operation.deliveries[0]?.id);
  expect(received[0]?.event).toMatchObject({ id: made.event.id, cribl_host: 'gate', cribl_pipe: 'edge' });
  expect(Object.keys(received[0]?.event ?? {}).filter(name => name.startsWith('__'))).toEqual([]);
});

it('tries again by the schedule with the same id, then keeps the exhausted one with its last error', async () => {
  lanes.configure([target('hook', () => RETRY)]);
  const made = await commit(opening());
  await eventually(async () => (await stored(made)).attempts === 1);
  await clock.advance(4900);
  expect(received).toHaveLength(1);
  await clock.advance(200);
  await eventually(async () => (await stored(made)).attempts === 2);
  await clock.advance(31_000);
  await settled(made, 'exhausted');
  expect(received).toHaveLength(3);
  expect(new Set(received.map(one => one.id)).size).toBe(1);
  expect(await stored(made)).toMatchObject({ attempts: 3, last_error: 'status 503', last_status: 503 });
});

it('sends the resolution after its alarm, however long that takes', async () => {
  let up = false;
  lanes.configure([target('hook', () => (up ? SENT : RETRY))]);
  const alarm = await commit(opening());
  const resolution = await commit(closing(alarm));
  await eventually(async () => (await stored(alarm)).attempts === 1);
  up = true;
  await clock.advance(6000);
  await settled(resolution, 'sent');
  expect(received.map(one => one.event.status)).toEqual(['ALARM', 'ALARM', 'OK']);
});

it('skips a resolution whose alarm was refused', async () => {
  lanes.configure([target('hook', () => REFUSED)]);
  const alarm = await commit(opening());
  await settled(alarm, 'refused');
  const resolution = await commit(closing(alarm));
  await settled(resolution, 'skipped');
  expect(received).toHaveLength(1);
});

it('never lets a target that hangs hold another', async () => {
  lanes.configure([target('dead', () => undefined, 1), target('hook', () => SENT)]);
  for (let count = 0; count < 20; count++)
    await commit(opening({ subject: `s${count}`, targets: ['dead', 'hook'] }));
  await eventually(() => received.filter(one => one.target === 'hook').length === 20);
  expect(received.filter(one => one.target === 'dead')).toHaveLength(1);
  const stopping = lanes.stop();
  await clock.advance(10_000);
  await stopping;
});

it('pauses the whole target when the receiver asks everybody to slow down', async () => {
  let limited = true;
  lanes.configure([
    target('hook', () => (limited ? { ...RETRY, retryAfterMs: 20_000, pauseTarget: true } : SENT), 1),
  ]);
  const first = await commit(opening({ subject: 'a' }));
  await eventually(async () => (await stored(first)).attempts === 1);
  const second = await commit(opening({ subject: 'b' }));
  limited = false;
  await clock.advance(19_000);
  expect(received).toHaveLength(1);
  await clock.advance(2000);
  await settled(first, 'sent');
  await settled(second, 'sent');
});

it('goes on after a restart with what was not settled, under the same ids and in order', async () => {
  const alarm = await commit(opening());
  const resolution = await commit(closing(alarm));
  await lanes.stop();
  lanes = open();
  lanes.configure([target('hook', () => SENT)]);
  await settled(resolution, 'sent');
  expect(received.map(one => one.id)).toEqual(
    [alarm, resolution].map(made => made.operation.deliveries[0]?.id),
  );
});

it('waits for attempts under way when it stops, and leaves the rest in the store', async () => {
  lanes.configure([target('hook', () => undefined, 1)]);
  const [first, second] = [await commit(opening({ subject: 'a' })), await commit(opening({ subject: 'b' }))];
  await eventually(() => received.length === 1);
  const stopping = lanes.stop();
  await clock.advance(10_000);
  await stopping;
  expect(await stored(first)).toMatchObject({ state: 'waiting', attempts: 0 });
  expect(await stored(second)).toMatchObject({ state: 'waiting', attempts: 0 });
});

it('gives up on an attempt that never ends', async () => {
  lanes.configure([target('hook', () => undefined)]);
  const made = await commit(opening());
  await eventually(() => received.length === 1);
  await clock.advance(60_000);
  await eventually(async () => (await stored(made)).attempts === 1);
});

it('keeps deliveries of a removed target and sends them when it comes back', async () => {
  lanes.configure([target('hook', () => RETRY)]);
  const made = await commit(opening());
  await eventually(async () => (await stored(made)).attempts === 1);
  lanes.configure([]);
  await clock.advance(60_000);
  expect(await stored(made)).toMatchObject({ state: 'waiting', attempts: 1 });
  lanes.configure([target('hook', () => SENT)]);
  await settled(made, 'sent');
});

it('uses new settings for the next attempt of what is already waiting', async () => {
  lanes.configure([target('hook', () => RETRY)]);
  const made = await commit(opening());
  await eventually(async () => (await stored(made)).attempts === 1);
  lanes.configure([target('hook', () => SENT)]);
  await clock.advance(6000);
  await settled(made, 'sent');
});

it('sends each of more deliveries than it holds in memory once', async () => {
  const many = 12_000;
  const made = Array.from({ length: many }, (_, count) => opening({ subject: `s${count}` }));
  await Promise.all(made.map(one => store.storage.commit(one.operation)));
  lanes.configure([target('hook', () => SENT, 32)]);
  await eventually(() => received.length === many);
  await eventually(async () => (await stored(made[many - 1] ?? opening())).state === 'sent');
  expect(new Set(received.map(one => one.id)).size).toBe(many);
});
