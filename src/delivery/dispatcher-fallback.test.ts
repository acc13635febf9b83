import { expect, it } from 'vitest';
import { deliveryWorld, REFUSED, RETRY, SENT } from '../../test/helpers/delivery-world.ts';
import { closing, type MadeTransition, opening, repeating } from '../../test/helpers/transitions.ts';
import { until } from '../../test/helpers/until.ts';
import type { Outcome } from '../targets/outcome.ts';
import type { Target } from '../targets/target.ts';

const world = deliveryWorld();

let answer: Outcome = REFUSED;
const hook = (fallback?: string): Target =>
  world.target('hook', () => answer, 5, fallback === undefined ? {} : { fallback });
const a = (): Target => world.target('a', () => SENT);
const b = (): Target => world.target('b', () => SENT);

/** An alarm that its target refuses and that target `a` gets. */
async function notifiedA(): Promise<MadeTransition> {
  answer = REFUSED;
  world.dispatcher.configure([hook('a'), a(), b()]);
  const alarm = await world.commit(opening());
  await until(async () => (await world.statesOf(alarm))['a 1'] === 'sent', 'the alarm at a');
  world.received.length = 0;
  return alarm;
}

/** Whoever got the end but the target itself, once it is settled everywhere. */
async function endAt(alarm: MadeTransition, seq = 2): Promise<readonly string[]> {
  const end = await world.commit(closing(alarm));
  await world.settled({ ...end }, 'skipped');
  await until(async () => {
    const states = Object.entries(await world.statesOf(alarm));
    return states.every(([, state]) => state !== 'waiting') && states.some(([at]) => at === `a ${seq}`);
  }, 'nothing that waits');
  return world.received.filter(one => one.event.status === 'OK').map(one => one.target);
}

it('sends the end to an earlier fallback that got the alarm, and not to the present one', async () => {
  const alarm = await notifiedA();
  world.dispatcher.configure([hook('b'), a(), b()]);
  expect(await endAt(alarm)).toEqual(['a']);
});

it('sends the end to each that got an alarm, however often the fallback was changed', async () => {
  const alarm = await notifiedA();
  world.dispatcher.configure([hook('b'), a(), b()]);
  const reminder = await world.commit(repeating(alarm));
  await until(async () => (await world.statesOf(alarm))['b 2'] === 'sent', 'the reminder at b');
  expect((await endAt(reminder, 3)).toSorted()).toEqual(['a', 'b']);
});

it('sends the end to the fallback that got the alarm when the target has none any more, also after a restart', async () => {
  const alarm = await notifiedA();
  world.dispatcher.configure([hook(), a(), b()]);
  await world.restart();
  world.dispatcher.configure([hook(), a(), b()]);
  expect(await endAt(alarm)).toEqual(['a']);
});

it('sends the end to a fallback that was removed, by its last settings, also after a restart', async () => {
  const alarm = await notifiedA();
  world.dispatcher.configure([hook(), b()], [a()]);
  await world.restart();
  world.dispatcher.configure([hook(), b()], [a()]);
  expect(await endAt(alarm)).toEqual(['a']);
});

it('sends the end to the fallback of a target that was removed', async () => {
  const alarm = await notifiedA();
  world.dispatcher.configure([a(), b()], [hook('a')]);
  expect(await endAt(alarm)).toEqual(['a']);
});

const byInput = (): Target =>
  world.target('router', () => REFUSED, 1, {
    routes: ({ cribl_notification: name, status }) =>
      [...(status === 'OK' ? ['none'] : ['a']), ...(name === undefined ? ['c'] : ['b', 'hook'])].map(
        (output, at) => ({ output, place: `routes[${at}]` }),
      ),
  });

it('fails an alarm that was given up over to where the router leads that is its fallback, and the end to the same', async () => {
  world.controls.schedule = [0];
  answer = RETRY;
  const c = world.target('c', () => SENT);
  world.dispatcher.configure([hook('router'), byInput(), a(), b(), c]);
  const alarm = await world.commit(opening());
  await until(async () => {
    const states = await world.statesOf(alarm);
    return states['a 1'] === 'sent' && states['b 1'] === 'sent';
  }, 'the alarm at a and b');
  expect(await world.statesOf(alarm)).toEqual({ 'hook 1': 'exhausted', 'a 1': 'sent', 'b 1': 'sent' });
  expect((await world.stored(alarm)).last_error).toBe("status 503; failed over to its fallback 'a', 'b'");
  world.received.length = 0;
  expect((await endAt(alarm)).toSorted()).toEqual(['a', 'b']);
});

it('leaves an alarm to its target while the router that is its fallback leads nowhere', async () => {
  world.controls.schedule = [0];
  answer = RETRY;
  const router = world.target('router', () => REFUSED, 1, { routes: () => [] });
  world.dispatcher.configure([hook('router'), router, a()]);
  const alarm = await world.commit(opening());
  await world.settled(alarm, 'exhausted');
  expect(await world.statesOf(alarm)).toEqual({ 'hook 1': 'exhausted' });
  expect((await world.stored(alarm)).last_error).toBe('status 503');
});

it('fails an end over that its target refuses together with others', async () => {
  answer = REFUSED;
  const batching = { maxEvents: Infinity, maxBytes: 1_000_000, lingerMs: 1000 };
  const picky: Outcome = { kind: 'refused', reason: 'status 400', isAboutMessage: true };
  let release = (_outcome: Outcome): void => {};
  const reply = (count: number): Outcome | Promise<Outcome> =>
    answer === RETRY ? new Promise(resolve => (release = resolve)) : count > 1 ? picky : answer;
  const target = world.target('hook', (_, events) => reply(events.length), 1, { fallback: 'a', batching });
  world.dispatcher.configure([target, a()]);
  const alarms = [
    await world.commit(opening({ subject: 'x' })),
    await world.commit(opening({ subject: 'y' })),
  ];
  for (const alarm of alarms)
    await until(async () => (await world.statesOf(alarm))['a 1'] === 'sent', 'the alarm at a');
  answer = SENT;
  for (const alarm of alarms) await world.settled(await world.commit(repeating(alarm)), 'sent');
  answer = RETRY;
  const busy = await world.commit(opening({ subject: 'busy' }));
  await until(() => world.received.some(one => one.event.incidentId === busy.event.incidentId));
  const ends = alarms.map(alarm => closing(repeating(alarm)));
  for (const end of ends) await world.commit(end);
  answer = SENT;
  release(SENT);
  for (const end of ends) {
    await world.settled(end, 'sent');
    await until(async () => (await world.statesOf(end))['a 3'] === 'sent', 'the end at a');
  }
});
