import { expect, it } from 'vitest';
import { deliveryWorld, SENT } from '../../test/helpers/delivery-world.ts';
import { closing, type MadeTransition, opening } from '../../test/helpers/transitions.ts';
import { until } from '../../test/helpers/until.ts';
import type { Outcome } from '../targets/outcome.ts';

const world = deliveryWorld();

/** A target that takes one at a time and answers when it is let, where two may wait. */
function slowTarget(onBackpressure: 'block' | 'drop'): () => void {
  let release = (): void => {};
  const answer = new Promise<Outcome>(resolve => {
    release = () => resolve(SENT);
  });
  world.controls.mostWaiting = 2;
  world.dispatcher.configure([world.target('hook', () => answer, 1, { onBackpressure })]);
  return release;
}

const alarmOf = (subject: string): Promise<MadeTransition> => world.commit(opening({ subject }));

it('skips alarms beyond what may wait for a target that drops, with the reason, and no end of what it gets', async () => {
  const release = slowTarget('drop');
  const [a, b, c] = [await alarmOf('a'), await alarmOf('b'), await alarmOf('c')];
  await world.settled(c, 'skipped');
  expect(await world.stored(c)).toMatchObject({
    attempts: 0,
    last_error: 'dropped: 2 wait for this target, and onBackpressure is drop',
  });
  expect(world.logged).toEqual(['too many wait: alarms are dropped']);
  const end = await world.commit(closing(b));
  const lost = await world.commit(closing(c));
  release();
  for (const one of [a, b, end]) await world.settled(one, 'sent');
  await world.settled(lost, 'skipped');
  const later = await alarmOf('later');
  await world.settled(later, 'sent');
});

it('keeps all that comes for a target that blocks', async () => {
  const release = slowTarget('block');
  const made = [await alarmOf('a'), await alarmOf('b'), await alarmOf('c')];
  await until(async () => world.received.length === 1);
  release();
  for (const one of made) await world.settled(one, 'sent');
});
