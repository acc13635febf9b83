import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { deliveryWorld, RETRY, SENT } from '../../test/helpers/delivery-world.ts';
import { type MadeTransition, opening } from '../../test/helpers/transitions.ts';
import { until } from '../../test/helpers/until.ts';
import type { HeadgateEvent } from '../events/event.ts';
import type { Outcome } from '../targets/outcome.ts';

const world = deliveryWorld();

const SCHEDULE = [0, 5000, 30_000, 120_000, 300_000] as const;
const BROKEN: Outcome = {
  kind: 'retry',
  reason: 'status 500',
  httpStatus: 500,
  mayBeAboutMessage: true,
};
const UNKNOWN: Outcome = { kind: 'unknown', reason: 'no answer' };
const UNREACHABLE: Outcome = { kind: 'retry', reason: 'the connection was refused' };

let run = 0;

/** So many events that wait for a target while it answers another, and then get these answers together. */
async function waitFor(
  count: number,
  answer: (events: readonly HeadgateEvent[]) => Outcome,
  concurrency: number,
): Promise<readonly MadeTransition[]> {
  world.controls.schedule = SCHEDULE;
  let release = (): void => {};
  const busy = new Promise<Outcome>(resolve => {
    release = () => resolve(SENT);
  });
  run += 1;
  world.received.length = 0;
  world.dispatcher.configure([world.target('hook', () => busy, 1)]);
  await world.commit(opening({ subject: `busy ${run}` }));
  await until(() => world.received.length === 1);
  const made = Array.from({ length: count }, (_, index) => opening({ subject: `${run} ${index}` }));
  await Promise.all(made.map(one => world.store.storage.commit(one.operation)));
  for (const one of made) world.dispatcher.enqueue(one.operation.deliveries, one.event);
  const batching = { maxEvents: Infinity, maxBytes: 1_000_000, lingerMs: 0 };
  world.dispatcher.configure([
    world.target('hook', (_, events) => answer(events), concurrency, { batching }),
  ]);
  world.received.length = 0;
  release();
  return made;
}

const statesOf = async (made: readonly MadeTransition[]) =>
  (await Promise.all(made.map(one => world.stored(one)))).map(row => row.state);

/** Lets time pass until each is settled, and answers their states. */
async function outcomes(made: readonly MadeTransition[]) {
  await until(async () => {
    await world.clock.advance(5000);
    return !(await statesOf(made)).includes('waiting');
  });
  return statesOf(made);
}

const sizes = (): readonly number[] => world.received.map(({ events }) => events.length);

/** Requests at most: each part that only is retried by the schedule, each part that is made, each one at fault. */
const mostRequests = (count: number, atFault: number): number =>
  2 * count + SCHEDULE.length * (SCHEDULE.length + atFault);

const failures = fc.constantFrom(BROKEN, UNKNOWN);

describe('events that the receiver cannot take', () => {
  it('keep no other of their batch from arriving, in a bounded number of requests', async () => {
    const worlds = fc.record({
      faults: fc.array(
        fc.boolean().chain(isOften => (isOften ? fc.boolean() : fc.constant(false))),
        { minLength: 2, maxLength: 24 },
      ),
      failure: failures,
      concurrency: fc.integer({ min: 1, max: 4 }),
      /** Requests that meet an outage first. */
      outage: fc.integer({ min: 0, max: 2 }),
    });
    await fc.assert(
      fc.asyncProperty(worlds, async ({ faults, failure, concurrency, outage }) => {
        const atFault = new Set<string>();
        const answer = (events: readonly HeadgateEvent[]): Outcome => {
          if (world.received.length <= outage) return RETRY;
          return events.some(({ id }) => atFault.has(id)) ? failure : SENT;
        };
        const made = await waitFor(faults.length, answer, concurrency);
        for (const [index, one] of made.entries()) if (faults[index] === true) atFault.add(one.event.id);
        const lost = failure.kind === 'unknown' ? 'unknown' : 'exhausted';
        expect(await outcomes(made)).toEqual(faults.map(isAtFault => (isAtFault ? lost : 'sent')));
        expect(sizes().length).toBeLessThanOrEqual(outage + mostRequests(faults.length, atFault.size));
      }),
      { numRuns: 12 },
    );
  }, 600_000);

  it('leave a batch in halves after the second failure, at once where the receiver takes others', async () => {
    let poison = '';
    const answer = (events: readonly HeadgateEvent[]) =>
      events.some(({ id }) => id === poison) ? BROKEN : SENT;
    const made = await waitFor(8, answer, 1);
    poison = made[5]?.event.id ?? '';
    await until(() => world.received.length === 1);
    await until(async () => (await world.stored(made[7] ?? opening())).attempts === 1);
    await world.clock.advance(5000);
    await until(() => world.received.length === 2);
    const last = async () => world.stored(made[7] ?? opening());
    await until(async () => (await last()).attempts === 2);
    expect((await last()).last_error).toBe('status 500, 8 together; each half is tried alone');
    await outcomes(made);
    expect(sizes().slice(0, 8)).toEqual([8, 8, 4, 4, 2, 2, 1, 1]);
    const [first, second, left, right] = world.received.map(({ id }) => id);
    expect(second).toBe(first);
    expect(new Set([first, left, right]).size).toBe(3);
  });
});

it('a restart after each attempt costs a batch its rounds, and no event that the receiver takes', async () => {
  let poison = '';
  const answer = (events: readonly HeadgateEvent[]) =>
    events.some(({ id }) => id === poison) ? BROKEN : SENT;
  const made = await waitFor(4, answer, 1);
  poison = made[1]?.event.id ?? '';
  const last = made[3] ?? opening();
  for (let attempts = 1; attempts < SCHEDULE.length; attempts++) {
    await until(async () => (await world.stored(last)).attempts === attempts);
    await world.restart();
    const batching = { maxEvents: Infinity, maxBytes: 1_000_000, lingerMs: 0 };
    world.dispatcher.configure([world.target('hook', (_, events) => answer(events), 1, { batching })]);
    // As long as its next wait may be, and no longer: a second attempt would be of the same process.
    await world.clock.advance(1.5 * (SCHEDULE[attempts] ?? 0));
  }
  expect(await outcomes(made)).toEqual(['sent', 'exhausted', 'sent', 'sent']);
  expect(sizes().slice(0, SCHEDULE.length)).toEqual(SCHEDULE.map(() => 4));
});

describe('an outage', () => {
  it.each([
    ['in which nothing can be connected to', UNREACHABLE],
    ['with 503', RETRY],
    ['with 429', { kind: 'retry', reason: 'status 429', httpStatus: 429 } as const],
  ])('%s costs a batch no more requests than it has attempts', async (_what, failure) => {
    const made = await waitFor(16, () => failure, 4);
    expect(new Set(await outcomes(made))).toEqual(new Set(['exhausted']));
    expect(sizes()).toEqual(SCHEDULE.map(() => 16));
  });

  it('in which all is refused for good ends at once, together', async () => {
    const made = await waitFor(16, () => ({ kind: 'refused', reason: 'status 401', httpStatus: 401 }), 4);
    expect(new Set(await outcomes(made))).toEqual(new Set(['refused']));
    expect(sizes()).toEqual([16]);
  });

  it.each([BROKEN, UNKNOWN])('that looks like events at fault is tried in few parts: %j', async failure => {
    const made = await waitFor(16, () => failure, 4);
    await outcomes(made);
    const whole = SCHEDULE.length;
    expect(sizes().length).toBeLessThanOrEqual(2 * 16 + (whole * (whole - 1)) / 2 + 1);
    expect(sizes().slice(0, 4)).toEqual([16, 16, 8, 8]);
  });
});
