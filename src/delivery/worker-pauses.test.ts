import { expect, it } from 'vitest';
import { deliveryWorld, RETRY, SENT } from '../../test/helpers/delivery-world.ts';
import { opening } from '../../test/helpers/transitions.ts';
import { until } from '../../test/helpers/until.ts';
import type { Outcome } from '../targets/outcome.ts';

const world = deliveryWorld();

const SLOW: Outcome = { ...RETRY, httpStatus: 429, retryAfterMs: 20_000, pauseTarget: true };

async function begun(paused: Readonly<Record<string, number>>): Promise<void> {
  world.controls.paused = paused;
  await world.restart();
}

it('keeps a pause that its target asked for before a restart, to its end', async () => {
  await begun({ hook: world.clock.now() + 20_000, other: world.clock.now() - 5 });
  world.dispatcher.configure([world.target('hook', () => SENT), world.target('other', () => SENT)]);
  const made = await world.commit(opening({ targets: ['other', 'hook'] }));
  await world.settled(made, 'sent');
  await world.clock.advance(19_000);
  expect(world.ordered()).toEqual(['other ALARM']);
  await world.clock.advance(1001);
  await until(() => world.received.length === 2);
});

it('keeps it for an hour at the most, should the wall clock have been set back meanwhile', async () => {
  await begun({ hook: world.clock.now() + 86_400_000 });
  world.dispatcher.configure([world.target('hook', () => SENT)]);
  const made = await world.commit(opening());
  await world.clock.advance(3_590_000);
  expect(world.received).toEqual([]);
  await world.clock.advance(10_001);
  await world.settled(made, 'sent');
});

it('ends a pause when the settings of its target change, and not when they are read again', async () => {
  await begun({ hook: world.clock.now() + 20_000 });
  world.dispatcher.configure([world.target('hook', () => SENT)]);
  const made = await world.commit(opening());
  world.dispatcher.configure([world.target('hook', () => SENT)]);
  await world.clock.advance(1000);
  expect(world.received).toEqual([]);
  world.dispatcher.configure([world.target('hook', () => SENT, 5, { description: 'another' })]);
  await world.settled(made, 'sent');
});

it('does not let a target that was changed meanwhile wait for what its earlier settings were answered', async () => {
  let release = (_outcome: Outcome): void => {};
  const first = new Promise<Outcome>(resolve => {
    release = resolve;
  });
  world.dispatcher.configure([world.target('hook', () => first)]);
  const asked = await world.commit(opening({ subject: 'a' }));
  await until(() => world.received.length === 1);
  world.dispatcher.configure([world.target('hook', () => SENT, 5, { description: 'another' })]);
  release(SLOW);
  await until(async () => (await world.stored(asked)).attempts === 1);
  await world.settled(await world.commit(opening({ subject: 'b' })), 'sent');
});

it('keeps on disk until when its target asked to be let be', async () => {
  const keep = { id: 'hook', target: 'hook', sealed: 'settings', replaced_at: null, paused_until: null };
  await world.store.storage.transaction(tx => tx.in('default').putRemovedTarget(keep));
  world.dispatcher.configure([world.target('hook', () => SLOW)]);
  const made = await world.commit(opening());
  await until(async () => (await world.stored(made)).attempts === 1);
  const [row] = await world.store.storage.in('default').removedTargets.list();
  expect(row?.paused_until).toBe(world.clock.now() + 20_000);
});
