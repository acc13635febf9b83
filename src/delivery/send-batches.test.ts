import { afterEach, beforeEach, expect, it } from 'vitest';
import { deliveryWorld, RETRY, SENT } from '../../test/helpers/delivery-world.ts';
import { closing, type MadeTransition, opening } from '../../test/helpers/transitions.ts';
import { until } from '../../test/helpers/until.ts';
import { AppError } from '../lib/errors.ts';
import type { Outcome } from '../targets/outcome.ts';
import type { Batching, Target } from '../targets/target.ts';

const world = deliveryWorld();

const NO_LIMIT: Batching = { maxEvents: Infinity, maxBytes: 1_000_000, lingerMs: 1000 };

const batching = (answer: (count: number) => Outcome | undefined, limits: Partial<Batching> = {}): Target =>
  world.target('hook', (_, events) => answer(events.length), 1, { batching: { ...NO_LIMIT, ...limits } });

/** So many incidents, each of its own subject, that wait while the target answers another request. */
async function crowd(count: number, then: Target): Promise<readonly MadeTransition[]> {
  let release = (): void => {};
  const busy = new Promise<Outcome>(resolve => {
    release = () => resolve(SENT);
  });
  world.dispatcher.configure([world.target('hook', () => busy, 1)]);
  await world.commit(opening({ subject: 'first' }));
  await until(() => world.received.length === 1);
  const made = Array.from({ length: count }, (_, index) => opening({ subject: `s${index}` }));
  await Promise.all(made.map(one => world.store.storage.commit(one.operation)));
  for (const one of made) world.dispatcher.enqueue(one.operation.deliveries, one.event);
  world.dispatcher.configure([then]);
  world.received.length = 0;
  release();
  return made;
}

const sizes = (): readonly number[] => world.received.map(one => one.events.length);
const subjectsOf = (index: number): readonly unknown[] =>
  world.received[index]?.events.map(event => event.incidentId) ?? [];

it('sends what waits in one request, under an id of its own, and records each delivery', async () => {
  const made = await crowd(
    7,
    batching(() => SENT),
  );
  for (const one of made) await world.settled(one, 'sent');
  expect(sizes()).toEqual([7]);
  expect(subjectsOf(0)).toEqual(made.map(one => one.event.incidentId));
  const [first] = made;
  if (first === undefined) throw new Error('nothing was made');
  expect(await world.stored(first)).toMatchObject({ batch: world.received[0]?.id, attempts: 1 });
  expect(made.map(one => one.operation.deliveries[0]?.id)).not.toContain(world.received[0]?.id);
});

it('sends an event alone when nothing else waits, under the id of its delivery', async () => {
  world.dispatcher.configure([batching(() => SENT)]);
  const made = await world.commit(opening());
  await world.settled(made, 'sent');
  expect(world.received[0]?.id).toBe(made.operation.deliveries[0]?.id);
  expect(await world.stored(made)).toMatchObject({ batch: null });
});

it.each([
  [{ maxEvents: 3 }, [3, 3, 1]],
  [{ maxBytes: 1 }, [1, 1, 1, 1, 1, 1, 1]],
])('keeps the limits %j of its target', async (limits, expected) => {
  const made = await crowd(
    7,
    batching(() => SENT, limits),
  );
  for (const one of made) await world.settled(one, 'sent');
  expect(sizes()).toEqual(expected);
});

it('never sends an alarm and its end in one request', async () => {
  const [alarm] = await crowd(
    1,
    batching(() => SENT),
  );
  if (alarm === undefined) throw new Error('nothing was made');
  const end = await world.commit(closing(alarm));
  await world.settled(end, 'sent');
  expect(world.ordered()).toEqual(['hook ALARM', 'hook OK']);
});

it('sends the same ones under the same id when it tries again, whatever has come since', async () => {
  let answer: Outcome = RETRY;
  const made = await crowd(
    3,
    batching(() => answer),
  );
  for (const one of made) await until(async () => (await world.stored(one)).attempts === 1);
  const later = await world.commit(opening({ subject: 'later' }));
  await until(async () => (await world.stored(later)).attempts === 1);
  answer = SENT;
  await world.clock.advance(6000);
  for (const one of [...made, later]) await world.settled(one, 'sent');
  expect(sizes()).toEqual([3, 1, 3, 1]);
  expect(world.received[2]?.id).toBe(world.received[0]?.id);
  expect(subjectsOf(2)).toEqual(subjectsOf(0));
});

it('does so after a restart amid the attempt as well', async () => {
  const made = await crowd(
    4,
    batching(() => undefined),
  );
  await until(() => world.received.length === 1);
  const stopping = world.restart();
  await world.clock.advance(10_000);
  await stopping;
  await world.store.storage.commit(opening({ subject: 'new' }).operation);
  world.dispatcher.configure([batching(() => SENT)]);
  for (const one of made) await world.settled(one, 'sent');
  await until(() => world.received.length === 3);
  expect(world.received[1]).toMatchObject({ id: world.received[0]?.id });
  expect(subjectsOf(1)).toEqual(subjectsOf(0));
  expect(sizes()).toEqual([4, 4, 1]);
});

it('tries each alone when the receiver does not like what they hold, and loses only the one at fault', async () => {
  let bad: string | undefined;
  const refusal: Outcome = { kind: 'refused', reason: 'status 400', httpStatus: 400, isAboutMessage: true };
  const strict = world.target(
    'hook',
    (_, events) => (events.some(event => event.incidentId === bad) ? refusal : SENT),
    1,
    { batching: NO_LIMIT },
  );
  const made = await crowd(5, strict);
  bad = made[2]?.event.incidentId;
  for (const one of made) await world.settled(one, one.event.incidentId === bad ? 'refused' : 'sent');
  expect(sizes()).toEqual([5, 1, 1, 1, 1, 1]);
  const { log } = {
    log: await world.store.storage
      .in('default')
      .deliveries.attempts(made[0]?.operation.deliveries[0]?.id ?? ''),
  };
  expect(log[0]).toMatchObject({ outcome: 'refused', reason: 'status 400, 5 together; each is tried alone' });
});

it('sends nothing together that the disk did not bind, and does so when it takes it', async () => {
  const made = await crowd(
    3,
    batching(() => SENT),
  );
  world.controls.refusal = new AppError('unavailable', 'the disk is full');
  await until(() => world.logged.includes('a delivery cannot be prepared'));
  expect(world.received).toEqual([]);
  world.controls.refusal = undefined;
  await world.clock.advance(1000);
  for (const one of made) await world.settled(one, 'sent');
  expect(sizes()).toEqual([3]);
});

it('gives one that a person retries an id of its own, and leaves the others together', async () => {
  let answer: Outcome = RETRY;
  const made = await crowd(
    3,
    batching(() => answer),
  );
  for (const one of made) await until(async () => (await world.stored(one)).attempts === 1);
  answer = SENT;
  const id = made[1]?.operation.deliveries[0]?.id ?? '';
  await world.store.storage.transaction(tx =>
    tx.in('default').requeue({ id, states: ['waiting'] }, { now: world.clock.now(), after: '', limit: 10 }),
  );
  world.dispatcher.reload(['hook']);
  await until(() => world.received.length >= 2);
  await world.clock.advance(6000);
  for (const one of made) await world.settled(one, 'sent');
  expect(sizes()).toEqual([3, 1, 2]);
  expect(world.received[1]?.id).toBe(id);
});

it('goes on alone with what was tried alone, under the id that was seen', async () => {
  let answer: Outcome = RETRY;
  world.dispatcher.configure([batching(() => answer)]);
  const made = [opening({ subject: 'a' }), opening({ subject: 'b' })];
  for (const one of made) {
    await world.commit(one);
    await until(async () => (await world.stored(one)).attempts === 1);
  }
  answer = SENT;
  await world.clock.advance(6000);
  for (const one of made) await world.settled(one, 'sent');
  expect(sizes()).toEqual([1, 1, 1, 1]);
  expect(new Set(world.received.map(one => one.id)).size).toBe(2);
});

it('sends alone what a process before may have had in flight when it ended', async () => {
  const made = Array.from({ length: 3 }, (_, index) => opening({ subject: `s${index}` }));
  await Promise.all(made.map(one => world.store.storage.commit(one.operation)));
  world.dispatcher.configure([batching(() => SENT)]);
  for (const one of made) await world.settled(one, 'sent');
  expect(world.received.map(one => one.id).sort()).toEqual(
    made.map(one => one.operation.deliveries[0]?.id).sort(),
  );
});

it('finds out by itself that one has left its batch', async () => {
  let answer: Outcome = RETRY;
  const made = await crowd(
    3,
    batching(() => answer),
  );
  for (const one of made) await until(async () => (await world.stored(one)).attempts === 1);
  answer = SENT;
  const id = made[0]?.operation.deliveries[0]?.id ?? '';
  await world.store.storage.transaction(tx =>
    tx.in('default').requeue({ id, states: ['waiting'] }, { now: world.clock.now(), after: '', limit: 10 }),
  );
  await world.clock.advance(6000);
  for (const one of made) await world.settled(one, 'sent');
  expect([...sizes()].sort()).toEqual([1, 2, 3]);
  expect(world.received.find(one => one.events.length === 1)?.id).toBe(id);
});

let answers: (() => void)[] = [];
let isOver = false;
beforeEach(() => {
  answers = [];
  isOver = false;
});
afterEach(() => {
  isOver = true;
  for (const answer of answers) answer();
});

/** A target of two requests, both of which are under way until they are answered. */
async function busy(limits: Partial<Batching> = {}) {
  const answer = (): Outcome | Promise<Outcome> =>
    isOver ? SENT : new Promise(resolve => answers.push(() => resolve(SENT)));
  const target = world.target('hook', answer, 2, { batching: { ...NO_LIMIT, ...limits } });
  world.dispatcher.configure([target]);
  // One after the other is under way, so that they do not travel together.
  for (const [index, subject] of ['hangs', 'ends'].entries()) {
    await world.commit(opening({ subject }));
    await until(() => answers.length === index + 1);
  }
  let count = 0;
  return {
    come: () => world.commit(opening({ subject: `s${count++}` })),
    /** Whatever could have been sent by then has been. */
    async look(): Promise<readonly number[]> {
      await world.clock.advance(0);
      for (let read = 0; read < 3; read++) await world.store.storage.in('default').deliveries.get('');
      return sizes();
    },
  };
}

it('lets what came while all requests were in flight linger, also when one has ended', async () => {
  const { come, look } = await busy();
  await come();
  await world.clock.advance(600);
  answers[1]?.();
  expect(await look()).toEqual([1, 1]);
  await come();
  await world.clock.advance(300);
  expect(await look()).toEqual([1, 1]);
  await world.clock.advance(100);
  await until(() => sizes().length === 3);
  expect(sizes()).toEqual([1, 1, 2]);
});

it('does not linger when nothing is in flight any more', async () => {
  const { come } = await busy();
  const made = await come();
  for (const answer of answers) answer();
  await until(() => sizes().length === 3);
  answers[2]?.();
  await world.settled(made, 'sent');
});

it('waits for no more company than fits in a request', async () => {
  const { come, look } = await busy({ maxEvents: 2 });
  await come();
  answers[1]?.();
  expect(await look()).toEqual([1, 1]);
  await come();
  await until(() => sizes().length === 3);
  expect(sizes()).toEqual([1, 1, 2]);
});

it('waits for no company while a request is free', async () => {
  const { come } = await busy();
  answers[1]?.();
  await world.clock.advance(0);
  await come();
  await until(() => sizes().length === 3);
  expect(sizes()).toEqual([1, 1, 1]);
});
