import { expect, it } from 'vitest';
import { deliveryWorld, RETRY, SENT } from '../../test/helpers/delivery-world.ts';
import { closing, opening, repeating } from '../../test/helpers/transitions.ts';
import { until } from '../../test/helpers/until.ts';
import type { Outcome } from '../targets/outcome.ts';
import type { Target } from '../targets/target.ts';

const world = deliveryWorld();

const EVERY_MS = 300_000;

const forgetful = (answer: () => Outcome | Promise<Outcome> = () => SENT, facts: object = {}): Target => ({
  ...world.target('hook', answer, 1, {
    batching: { maxEvents: 2, maxBytes: 1_000_000, lingerMs: 0 },
    ...facts,
  }),
  resendMs: EVERY_MS,
});

it('sends open alarms again under other ids, with the time at which it does, soon after a start and then regularly', async () => {
  world.dispatcher.configure([forgetful(), world.target('other', () => SENT)]);
  const made = [];
  for (const subject of ['a', 'b', 'c']) {
    const one = opening({ subject, targets: ['hook', 'other'] });
    await world.settled(await world.commit(one), 'sent');
    made.push(one);
  }
  await until(() => world.received.length === 6);
  world.received.length = 0;
  await world.clock.advance(5000);
  await until(() => world.received.length === 2);
  expect(world.received.map(one => [one.target, one.events.length])).toEqual([
    ['hook', 2],
    ['hook', 1],
  ]);
  const again = world.received.flatMap(({ events }) => events);
  expect(again.map(({ id }) => id)).toEqual(made.map(({ event }) => event.id));
  expect(again.every(event => event._time === Math.floor(world.clock.now() / 1000))).toBe(true);
  const deliveryIds = made.flatMap(({ operation }) => operation.deliveries.map(({ id }) => id));
  for (const { id } of world.received) expect(deliveryIds).not.toContain(id);
  await world.clock.advance(EVERY_MS);
  await until(() => world.received.length === 4);
  for (const one of made) expect(await world.stored(one)).toMatchObject({ state: 'sent', attempts: 1 });
});

it('sends neither what is over, nor what did not arrive, nor of a reminded incident more than the reminder', async () => {
  let answer: Outcome = SENT;
  world.dispatcher.configure([forgetful(() => answer)]);
  const over = await world.commit(opening({ subject: 'over' }));
  await world.settled(over, 'sent');
  await world.settled(await world.commit(closing(over)), 'sent');
  const reminded = await world.commit(opening({ subject: 'reminded' }));
  await world.settled(reminded, 'sent');
  const reminder = await world.commit(repeating(reminded));
  await world.settled(reminder, 'sent');
  answer = RETRY;
  const waits = await world.commit(opening({ subject: 'waits' }));
  await until(async () => (await world.stored(waits)).attempts === 1);
  world.received.length = 0;
  answer = SENT;
  await world.clock.advance(5000);
  await world.settled(waits, 'sent');
  const again = () => world.received.flatMap(({ events }) => events.map(({ id }) => id));
  await until(() => again().includes(reminder.event.id));
  expect(new Set(again())).toEqual(new Set([waits.event.id, reminder.event.id]));
});

it('lets no end go before an alarm that is just being sent again, and none after it', async () => {
  const answers: ((outcome: Outcome) => void)[] = [];
  let isSlow = false;
  world.dispatcher.configure([
    forgetful(() => (isSlow ? new Promise<Outcome>(resolve => answers.push(resolve)) : SENT)),
  ]);
  const made = await world.commit(opening({ subject: 'a' }));
  await world.settled(made, 'sent');
  isSlow = true;
  await world.clock.advance(5000);
  await until(() => answers.length === 1);
  const end = await world.commit(closing(made));
  isSlow = false;
  answers[0]?.(SENT);
  await world.settled(end, 'sent');
  expect(world.ordered()).toEqual(['hook ALARM', 'hook ALARM', 'hook OK']);
  await world.clock.advance(EVERY_MS);
  await world.settled(await world.commit(opening({ subject: 'b' })), 'sent');
  expect(world.ordered()).toHaveLength(4);
});

it('heeds a pause, is not counted as a delivery that failed, and goes on with the next time', async () => {
  const limited: Outcome = { kind: 'retry', reason: 'status 429', httpStatus: 429, pauseTarget: true };
  let answer: Outcome = SENT;
  world.dispatcher.configure([forgetful(() => answer)]);
  const made = await world.commit(opening({ subject: 'a' }));
  await world.settled(made, 'sent');
  answer = limited;
  await world.clock.advance(5000);
  await until(() => world.dispatcher.hold('hook')?.kind === 'paused');
  answer = SENT;
  await world.clock.advance(EVERY_MS);
  await until(() => world.received.length === 3);
  expect([world.healthChanges, (await world.stored(made)).state]).toEqual([[], 'sent']);
  expect(world.logged).toContain('open alarms cannot be sent again');
});

it('sends nothing again to a target that was removed, nor to one that forgets nothing', async () => {
  world.dispatcher.configure([world.target('hook', () => SENT)]);
  await world.settled(await world.commit(opening({ subject: 'a' })), 'sent');
  await world.clock.advance(EVERY_MS);
  world.dispatcher.configure([], [forgetful()]);
  await world.clock.advance(EVERY_MS);
  await world.clock.advance(EVERY_MS);
  expect(world.received).toHaveLength(1);
});
