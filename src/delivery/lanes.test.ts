import { afterEach, beforeEach, expect, it } from 'vitest';
import { type TestClock, testClock } from '../../test/helpers/clock.ts';
import { eventually } from '../../test/helpers/eventually.ts';
import { openTestStorage, type TestStorage } from '../../test/helpers/storage.ts';
import { closing, type MadeTransition, opening, repeating } from '../../test/helpers/transitions.ts';
import type { HeadgateEvent } from '../events/event.ts';
import { systemClock } from '../lib/clock.ts';
import { AppError } from '../lib/errors.ts';
import { monotonicIds } from '../lib/ids.ts';
import { silentLogger } from '../lib/logger.ts';
import { Rate } from '../lib/rate.ts';
import type { DeliveryRow, DeliveryStore, EventStore, Storage } from '../storage/storage.ts';
import type { Outcome } from '../targets/outcome.ts';
import type { Target } from '../targets/target.ts';
import type { HealthNews } from './health.ts';
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
/** Messages of warnings and errors. */
let logged: string[];
/** What stands in for reads of the store. */
let reads: { event?: EventStore['get']; waiting?: DeliveryStore['waiting'] };
/** What the disk says to every settlement. */
let refuse: AppError | undefined;
let schedule: readonly number[];
let concurrency: number;
let told: (HealthNews & { target: string })[];
let failing: string[];

beforeEach(async () => {
  store = await openTestStorage();
  clock = testClock();
  received = [];
  logged = [];
  reads = {};
  refuse = undefined;
  schedule = [0, 5000, 30_000];
  concurrency = 256;
  told = [];
  failing = [];
  lanes = open();
});

afterEach(async () => {
  await lanes.stop();
  await store.close();
});

function open(): Lanes {
  return createLanes({
    workspace: 'default',
    storage: faultyStorage(),
    http: { request: () => Promise.reject(new Error('not used')), close: async () => {} },
    clock,
    ids: monotonicIds(systemClock),
    logger: { ...silentLogger, warn: note, error: note },
    random: () => 0.5,
    logFolder: store.folder,
    failing: new Set(failing),
    news: (id, news) => void told.push({ target: id, ...news }),
    settings: () => ({ retrySchedule: schedule, instanceName: 'gate', concurrency }),
  });
}

const note = (_: object, message: string): void => void logged.push(message);

function faultyStorage(): Storage {
  return {
    ...store.storage,
    in(workspace) {
      const stores = store.storage.in(workspace);
      return {
        ...stores,
        events: { ...stores.events, get: id => (reads.event ?? stores.events.get)(id) },
        deliveries: {
          ...stores.deliveries,
          waiting: (...query) => (reads.waiting ?? stores.deliveries.waiting)(...query),
        },
      };
    },
    commit: operation => (refuse ? Promise.reject(refuse) : store.storage.commit(operation)),
  };
}

/** A target that answers as told; undefined means that it does not answer until the attempt is aborted. */
function target(
  id: string,
  answer: (event: HeadgateEvent) => Outcome | undefined,
  atOnce = 5,
  more: Partial<Target['settings']> = {},
): Target {
  return {
    settings: { id, type: 'test', systemFields: ['cribl_host', 'cribl_pipe'], ...more },
    concurrency: atOnce,
    fallback: more.fallback,
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

it('goes on when the store could not be read for a while', async () => {
  const made = [opening({ subject: 'a' }), opening({ subject: 'b' })];
  await Promise.all(made.map(one => store.storage.commit(one.operation)));
  let faults = 3;
  reads.event = async id => {
    if (faults-- > 0) throw new AppError('unavailable', 'the disk does not answer');
    return store.storage.in('default').events.get(id);
  };
  lanes.configure([target('hook', () => SENT, 1)]);
  await eventually(() => faults < 3);
  await clock.advance(5000);
  for (const one of made) await settled(one, 'sent');
  expect(received).toHaveLength(2);
});

it('asks a store that cannot be read once a second, and tells its log once', async () => {
  let asked = 0;
  reads.waiting = async () => {
    if (++asked > 100) return [];
    throw new AppError('unavailable', 'the disk does not answer');
  };
  lanes.configure([target('hook', () => SENT)]);
  await clock.advance(3500);
  expect(asked).toBe(4);
  expect(logged).toEqual(['waiting deliveries cannot be read']);
});

it.each([1, 2])('never sends what a former lane is still sending, its target gone %i times', async times => {
  const hook = target('hook', event => (event.incidentId === first.event.incidentId ? undefined : SENT));
  const first = opening({ subject: 'a' });
  lanes.configure([hook]);
  await commit(first);
  await eventually(() => received.length === 1);
  for (let time = 0; time < times; time++) {
    lanes.configure([]);
    lanes.configure([hook]);
    await clock.advance(1);
  }
  await commit(opening({ subject: 'b' }));
  await clock.advance(1000);
  expect(received).toHaveLength(1);
  await clock.advance(60_000);
  await eventually(() => received.length >= 2);
});

it('waits at its end for the attempts of a lane whose target was gone for a while', async () => {
  const hook = target('hook', () => undefined);
  lanes.configure([hook]);
  await commit(opening());
  await eventually(() => received.length === 1);
  lanes.configure([]);
  lanes.configure([hook]);
  let stopped = false;
  void lanes.stop().then(() => {
    stopped = true;
  });
  await clock.advance(9000);
  expect(stopped).toBe(false);
  await clock.advance(1000);
  expect(stopped).toBe(true);
});

it('sends once what it has read and is handed a moment later', async () => {
  let answer: Outcome | undefined;
  lanes.configure([target('hook', () => answer)]);
  await clock.advance(0);
  const made = opening();
  await store.storage.commit(made.operation);
  lanes.configure([]);
  lanes.configure([target('hook', () => answer)]);
  await eventually(() => received.length === 1);
  answer = SENT;
  lanes.enqueue(made.operation.deliveries, made.event);
  await clock.advance(61_000);
  await clock.advance(10_000);
  await settled(made, 'sent');
  expect(received).toHaveLength(2);
});

it('sends what is due although more than fits in memory waits for its time', async () => {
  const later = clock.now() + 1_800_000;
  const waiting = Array.from({ length: 10_500 }, (_, count) => opening({ subject: `w${count}` }));
  const due = Array.from({ length: 50 }, (_, count) => opening({ subject: `d${count}` }));
  const postponed = waiting.map(({ operation }) => ({
    ...operation,
    deliveries: operation.deliveries.map(row => ({ ...row, attempts: 1, next_at: later })),
  }));
  await Promise.all([...postponed, ...due.map(one => one.operation)].map(one => store.storage.commit(one)));
  lanes.configure([target('hook', () => SENT, 32)]);
  await eventually(() => received.length === due.length);
  await clock.advance(1_800_000);
  await eventually(() => received.length === due.length + waiting.length);
  expect(new Set(received.map(one => one.id)).size).toBe(received.length);
});

it('waits for a disk that refuses, without spinning and with one line in its log, then books all', async () => {
  refuse = new AppError('unavailable', 'the disk is full');
  lanes.configure([target('hook', () => SENT, 32)]);
  const made = Array.from({ length: 600 }, (_, count) => opening({ subject: `s${count}` }));
  await Promise.all(made.map(one => store.storage.commit(one.operation)));
  for (const one of made) lanes.enqueue(one.operation.deliveries, one.event);
  await eventually(() => received.length >= 500);
  await clock.advance(3000);
  expect(received.length).toBeLessThan(540);
  expect(logged).toEqual(['attempts cannot be booked']);
  refuse = undefined;
  await clock.advance(1000);
  for (const one of made) await settled(one, 'sent');
  expect(received).toHaveLength(600);
});

it('books what was sent once the disk takes it, though its target is gone by then', async () => {
  refuse = new AppError('unavailable', 'the disk is full');
  lanes.configure([target('hook', () => SENT)]);
  const made = await commit(opening());
  await eventually(() => received.length === 1);
  lanes.configure([]);
  await clock.advance(2500);
  lanes.configure([target('hook', () => SENT)]);
  refuse = undefined;
  await clock.advance(1000);
  await settled(made, 'sent');
  expect(received).toHaveLength(1);
});

it('is not held up by a wall clock that is set back while an attempt is under way', async () => {
  lanes.configure([
    target('hook', () => {
      if (received.length > 1) return SENT;
      clock.step(-86_400_000);
      return RETRY;
    }),
  ]);
  const made = await commit(opening());
  await eventually(async () => (await stored(made)).attempts === 1);
  await clock.advance(6000);
  await settled(made, 'sent');
});

it('is held up for an hour at the most by a wall clock that was set back before a restart', async () => {
  const { operation, event } = opening();
  const deliveries = operation.deliveries.map(row => ({
    ...row,
    attempts: 1,
    next_at: clock.now() + 86_400_000,
  }));
  await store.storage.commit({ ...operation, deliveries });
  let answered: Promise<readonly DeliveryRow[]> | undefined;
  reads.waiting = (...query) => {
    answered = store.storage.in('default').deliveries.waiting(...query);
    return answered;
  };
  lanes.configure([target('hook', () => SENT)]);
  await eventually(() => answered !== undefined);
  await answered;
  await clock.advance(3_590_000);
  expect(received).toHaveLength(0);
  await clock.advance(10_000);
  await settled({ operation, event }, 'sent');
});

it('sends nothing more once the time for its end is over', async () => {
  const made = opening();
  await store.storage.commit(made.operation);
  let answer = (): void => {};
  reads.event = async id => {
    await new Promise<void>(resolve => {
      answer = resolve;
    });
    return store.storage.in('default').events.get(id);
  };
  lanes.configure([target('hook', () => undefined)]);
  await eventually(() => String(answer) !== String(() => {}));
  const stopping = lanes.stop();
  await clock.advance(10_000);
  answer();
  await stopping;
  expect(received).toEqual([]);
});

it('ends although a target does not heed its signal', async () => {
  lanes.configure([{ ...target('hook', () => SENT), send: () => new Promise(() => {}) }]);
  const made = await commit(opening());
  const stopping = lanes.stop();
  await clock.advance(10_000);
  await stopping;
  expect(await stored(made)).toMatchObject({ state: 'waiting', attempts: 0 });
});

it('lets no delivery near its end hold the whole target for its own long wait', async () => {
  const limited: Outcome = { kind: 'retry', reason: 'status 429', httpStatus: 429, pauseTarget: true };
  schedule = [0, 5000, 28_800_000];
  const { operation } = opening({ subject: 'old' });
  const deliveries = operation.deliveries.map(row => ({ ...row, attempts: 1, next_at: clock.now() }));
  await store.storage.commit({ ...operation, deliveries });
  lanes.configure([target('hook', () => (received.length === 1 ? limited : SENT), 1)]);
  await eventually(() => received.length === 1);
  const fresh = await commit(opening({ subject: 'new' }));
  await clock.advance(59_000);
  expect(received).toHaveLength(1);
  await clock.advance(2000);
  await settled(fresh, 'sent');
});

it('pauses the target also when the delivery that was told to wait is given up', async () => {
  schedule = [0];
  const limited: Outcome = { ...RETRY, httpStatus: 429, retryAfterMs: 20_000, pauseTarget: true };
  lanes.configure([target('hook', () => (received.length === 1 ? limited : SENT), 1)]);
  const first = await commit(opening({ subject: 'a' }));
  await settled(first, 'exhausted');
  const second = await commit(opening({ subject: 'b' }));
  await clock.advance(19_000);
  expect(received).toHaveLength(1);
  await clock.advance(2000);
  await settled(second, 'sent');
});

it('says once that a target fails, and once that it is well again', async () => {
  let answer: Outcome = RETRY;
  lanes.configure([target('hook', () => answer)]);
  for (const subject of ['a', 'b', 'c']) {
    const made = await commit(opening({ subject }));
    await eventually(async () => (await stored(made)).attempts === 1);
  }
  await eventually(() => logged.length > 0, 'the first line');
  expect(logged).toEqual(['deliveries fail']);
  answer = REFUSED;
  await settled(await commit(opening({ subject: 'd' })), 'refused');
  await eventually(() => logged.length === 2, 'the second line');
  answer = SENT;
  await settled(await commit(opening({ subject: 'e' })), 'sent');
  answer = RETRY;
  await commit(opening({ subject: 'f' }));
  await eventually(() => logged.length === 3, 'the third line');
});

const ordered = () => received.map(one => `${one.target} ${one.event.status}`);

async function statesOf(made: MadeTransition): Promise<Record<string, DeliveryRow['state']>> {
  const page = await store.storage
    .in('default')
    .deliveries.list({ incident: made.event.incidentId }, { offset: 0, limit: 100 });
  return Object.fromEntries(page.rows.map(row => [`${row.target} ${row.seq}`, row.state]));
}

const withFallback = (answer: () => Outcome | undefined) => [
  target('hook', answer, 5, { fallback: 'spare' }),
  target('spare', () => SENT),
];

it('hands an alarm that was refused, and its end, over to the fallback', async () => {
  lanes.configure(withFallback(() => REFUSED));
  const alarm = await commit(opening());
  await eventually(() => received.length === 2);
  const end = await commit(closing(alarm));
  await eventually(() => received.length === 3);
  await settled(end, 'skipped');
  expect(ordered()).toEqual(['hook ALARM', 'spare ALARM', 'spare OK']);
  await eventually(async () => (await statesOf(alarm))['spare 2'] === 'sent');
  expect(await statesOf(alarm)).toEqual({
    'hook 1': 'refused',
    'spare 1': 'sent',
    'hook 2': 'skipped',
    'spare 2': 'sent',
  });
  expect((await stored(alarm)).last_error).toBe("status 404; handed over to its fallback 'spare'");
});

it('hands alarms over at once while the target fails, and asks it first with each new one', async () => {
  failing = ['hook'];
  await lanes.stop();
  lanes = open();
  let answer: Outcome = RETRY;
  lanes.configure(withFallback(() => answer));
  const first = await commit(opening({ subject: 'a' }));
  await settled(first, 'exhausted');
  await eventually(() => received.length === 2);
  answer = SENT;
  await settled(await commit(opening({ subject: 'b' })), 'sent');
  expect(ordered()).toEqual(['hook ALARM', 'spare ALARM', 'hook ALARM']);
  expect(told).toEqual([{ target: 'hook', state: 'recovered', reason: '' }]);
});

it('tries to the end to tell the end to a target that has got the alarm, also when it fails meanwhile', async () => {
  let answer: Outcome = SENT;
  lanes.configure(withFallback(() => answer));
  const alarm = await commit(opening());
  await settled(alarm, 'sent');
  answer = REFUSED;
  await settled(await commit(opening({ subject: 'other' })), 'refused');
  answer = RETRY;
  const end = await commit(closing(alarm));
  await eventually(async () => (await stored(end)).attempts === 1);
  expect(await stored(end)).toMatchObject({ state: 'waiting' });
  answer = SENT;
  await clock.advance(6000);
  await settled(end, 'sent');
  expect(await statesOf(alarm)).toEqual({ 'hook 1': 'sent', 'hook 2': 'sent' });
});

it('gives a fallback that is told anyhow nothing twice', async () => {
  lanes.configure(withFallback(() => REFUSED));
  const alarm = await commit(opening({ targets: ['hook', 'spare'] }));
  await settled(alarm, 'refused');
  await settled(await commit(closing(alarm)), 'skipped');
  await eventually(() => ordered().filter(one => one.startsWith('spare')).length === 2);
  await clock.advance(60_000);
  expect(ordered().filter(one => one.startsWith('spare'))).toEqual(['spare ALARM', 'spare OK']);
});

it('tells that a target fails with the first refusal that any message would meet, and that it is well again', async () => {
  let answer: Outcome = REFUSED;
  lanes.configure([target('hook', () => answer)]);
  await settled(await commit(opening({ subject: 'a' })), 'refused');
  answer = SENT;
  await settled(await commit(opening({ subject: 'b' })), 'sent');
  expect(told).toEqual([
    { target: 'hook', state: 'failing', reason: 'status 404' },
    { target: 'hook', state: 'recovered', reason: '' },
  ]);
});

it('sends no faster than the pace of its target, whatever is waiting', async () => {
  lanes.configure([target('hook', () => SENT, 5, { pacing: new Rate('3/minute', 3, 60_000) })]);
  for (let count = 0; count < 7; count++) await commit(opening({ subject: `s${count}` }));
  await eventually(() => received.length === 3);
  await clock.advance(59_000);
  expect(received).toHaveLength(3);
  await clock.advance(2000);
  await eventually(() => received.length === 6);
  await clock.advance(60_000);
  await eventually(() => received.length === 7);
});

it('keeps the bound of all targets together, and each target goes on beside those that hang', async () => {
  concurrency = 2;
  const hanging = ['a', 'b', 'c'].map(id => target(id, () => undefined, 5));
  lanes.configure([...hanging, target('hook', () => SENT, 5)]);
  for (let count = 0; count < 10; count++)
    await commit(opening({ subject: `s${count}`, targets: ['a', 'b', 'c', 'hook'] }));
  await eventually(() => received.filter(one => one.target === 'hook').length === 10);
  expect(received.filter(one => one.target !== 'hook')).toHaveLength(5);
  const stopping = lanes.stop();
  await clock.advance(10_000);
  await stopping;
});

/** As the retry of a person does it. */
async function retry(made: MadeTransition): Promise<number> {
  const id = made.operation.deliveries[0]?.id ?? '';
  const filter = { id, states: ['exhausted', 'refused', 'waiting'] } as const;
  const { rows } = await store.storage.transaction(tx =>
    tx.in('default').requeue(filter, { now: clock.now(), after: '', limit: 10 }),
  );
  lanes.requeued(new Set(rows.map(row => row.target)));
  return rows.length;
}

it('sends what was given up when it is put back, and after it the end that was skipped for its sake', async () => {
  let answer: Outcome = REFUSED;
  lanes.configure([target('hook', () => answer)]);
  const alarm = await commit(opening());
  const end = await commit(closing(alarm));
  await settled(end, 'skipped');
  answer = SENT;
  expect(await retry(alarm)).toBe(2);
  await settled(end, 'sent');
  expect(received.map(one => one.event.status)).toEqual(['ALARM', 'ALARM', 'OK']);
  expect(received[0]?.id).toBe(received[1]?.id);
});

it('leaves alone an alarm whose target has got the end since', async () => {
  let answer: Outcome = REFUSED;
  lanes.configure([target('hook', () => answer)]);
  const alarm = await commit(opening());
  await settled(alarm, 'refused');
  answer = SENT;
  const reminder = await commit(repeating(alarm));
  await settled(reminder, 'sent');
  expect(await retry(alarm)).toBe(0);
  expect((await stored(alarm)).state).toBe('refused');
});

it('tries what waits for its time at once when it is put back, and then by the schedule from its beginning', async () => {
  lanes.configure([target('hook', () => RETRY)]);
  const made = await commit(opening());
  await eventually(async () => (await stored(made)).attempts === 1);
  await clock.advance(6000);
  await eventually(async () => (await stored(made)).attempts === 2);
  await retry(made);
  await eventually(async () => (await stored(made)).attempts === 3);
  expect((await stored(made)).state).toBe('waiting');
  await clock.advance(6000);
  await eventually(async () => (await stored(made)).attempts === 4);
  await clock.advance(36_001);
  await settled(made, 'exhausted');
  expect(await stored(made)).toMatchObject({ attempts: 5 });
});

it('tells a removed target only the end of what it was told, and keeps the rest for when it is back', async () => {
  let answer: Outcome = SENT;
  const hook = target('hook', () => answer);
  lanes.configure([hook]);
  const alarm = await commit(opening({ subject: 'told' }));
  await settled(alarm, 'sent');
  answer = RETRY;
  const untold = await commit(opening({ subject: 'untold' }));
  await eventually(async () => (await stored(untold)).attempts === 1);
  answer = SENT;
  lanes.configure([], [hook]);
  await settled(await commit(closing(alarm)), 'sent');
  await clock.advance(60_000);
  expect(await stored(untold)).toMatchObject({ state: 'waiting', attempts: 1 });
  lanes.configure([hook]);
  await settled(untold, 'sent');
});

it('waits as the target says instead of by the schedule', async () => {
  const waits = { kind: 'growing', firstMs: 200, rate: 2, mostMs: 10_000 } as const;
  lanes.configure([target('hook', () => (received.length < 4 ? { ...RETRY, waits } : SENT))]);
  const made = await commit(opening());
  for (const [ms, count] of [
    [200, 2],
    [2000, 3],
    [4000, 4],
  ] as const) {
    await eventually(async () => (await stored(made)).attempts === count - 1);
    await clock.advance(ms);
    await eventually(() => received.length === count);
  }
  await settled(made, 'sent');
});
