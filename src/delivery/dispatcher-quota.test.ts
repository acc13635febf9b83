import { expect, it } from 'vitest';
import { deliveryWorld, REFUSED, RETRY, SENT } from '../../test/helpers/delivery-world.ts';
import { closing, type MadeTransition, opening } from '../../test/helpers/transitions.ts';
import { until } from '../../test/helpers/until.ts';
import type { Outcome } from '../targets/outcome.ts';
import type { Target } from '../targets/target.ts';

const world = deliveryWorld();

const MINUTE = 60_000;
const NO_LIMIT = { maxEvents: 500, maxBytes: 1_000_000, lingerMs: 0 };

/** A process with that quota, and targets that note when they were sent how much. */
async function start(perMinute: number | undefined, ...targets: readonly Target[]): Promise<void> {
  world.controls.perMinute = perMinute;
  await world.restart();
  world.dispatcher.configure(targets);
}

const sentAt: { at: number; events: number }[] = [];
const noting = (id: string, answer: () => Outcome = () => SENT, batching?: Target['batching']): Target =>
  world.target(
    id,
    (_, events) => {
      sentAt.push({ at: world.clock.monotonic(), events: events.length });
      return answer();
    },
    5,
    { batching },
  );

async function open(...subjects: readonly string[]): Promise<MadeTransition[]> {
  const made: MadeTransition[] = [];
  for (const subject of subjects) made.push(await world.commit(opening({ subject })));
  return made;
}

const received = (count: number): Promise<void> =>
  until(() => world.received.length === count, `${count} requests`);
const idsOf = (made: readonly MadeTransition[]): unknown[] => made.map(({ event }) => event.incidentId);

it('begins no more than its quota in any minute over all targets, and sends all in the end, each ordering key in its order', async () => {
  sentAt.length = 0;
  await start(3, noting('a'), noting('b'));
  const made: MadeTransition[] = [];
  for (const subject of ['one', 'two', 'three']) {
    const opened = opening({ subject, targets: ['a', 'b'] });
    made.push(await world.commit(opened), await world.commit(closing(opened)));
  }
  for (let sent = 3; sent <= 12; sent += 3) {
    await received(sent);
    await world.clock.advance(MINUTE - 1);
    expect(world.received).toHaveLength(sent);
    await world.clock.advance(1);
  }
  for (const one of made)
    await until(async () => Object.values(await world.statesOf(one)).every(state => state === 'sent'));
  for (const { at: from } of sentAt)
    expect(sentAt.filter(({ at }) => at >= from && at < from + MINUTE).length).toBeLessThanOrEqual(3);
  for (const target of ['a', 'b'])
    for (const id of new Set(idsOf(made))) {
      const told = world.received.filter(one => one.target === target && one.event.incidentId === id);
      expect(told.map(({ event }) => event.status)).toEqual(['ALARM', 'OK']);
    }
});

it('counts each attempt', async () => {
  let answer: Outcome = RETRY;
  await start(
    2,
    noting('hook', () => answer),
  );
  await open('one');
  await received(1);
  await world.clock.advance(5000);
  await received(2);
  answer = SENT;
  await open('two');
  await world.clock.advance(MINUTE - 5001);
  expect(world.received).toHaveLength(2);
  await world.clock.advance(1);
  await received(3);
});

it('counts each of a batch, and sends as many together as are left', async () => {
  let release = (): void => {};
  const busy = new Promise<Outcome>(resolve => {
    release = () => resolve(SENT);
  });
  const answers = [busy];
  const hook = world.target('hook', () => answers.shift() ?? SENT, 1, { batching: NO_LIMIT });
  await start(4, hook);
  await open('first');
  await received(1);
  const made = await open('one', 'two', 'three', 'four', 'five');
  release();
  await received(2);
  await world.clock.advance(MINUTE);
  for (const one of made) await world.settled(one, 'sent');
  expect(world.received.map(({ events }) => events.length)).toEqual([1, 3, 2]);
});

it('waits until there are tokens for the whole of a batch, and sends them under their id', async () => {
  let answer: Outcome = RETRY;
  const hook = noting('hook', () => answer, NO_LIMIT);
  await start(undefined);
  const made = await open('one', 'two', 'three');
  await world.store.storage.commit({
    kind: 'batch',
    workspace: 'default',
    batch: 'the batch',
    deliveryIds: made.flatMap(({ operation }) => operation.deliveries.map(({ id }) => id)),
  });
  await start(4, hook, noting('other'));
  await received(1);
  answer = SENT;
  await world.clock.advance(1000);
  for (const subject of ['x', 'y']) await world.commit(opening({ subject, targets: ['other'] }));
  await received(2);
  await world.clock.advance(10_000);
  expect(world.received).toHaveLength(2);
  await world.clock.advance(MINUTE - 11_000);
  await received(3);
  await until(() => world.dispatcher.hold('hook')?.kind === 'over-quota');
  await world.clock.advance(1000);
  await received(4);
  expect(world.received.map(({ target, events }) => [target, events.length])).toEqual([
    ['hook', 3],
    ['other', 1],
    ['other', 1],
    ['hook', 3],
  ]);
  expect(world.received.filter(({ target }) => target === 'hook').map(({ id }) => id)).toEqual([
    'the batch',
    'the batch',
  ]);
});

it('counts nothing that is not sent after all', async () => {
  const answers: Outcome[] = [REFUSED];
  await start(
    2,
    world.target('hook', () => answers.shift() ?? SENT),
  );
  const alarm = await world.commit(opening());
  await world.settled(alarm, 'refused');
  await world.settled(await world.commit(closing(alarm)), 'skipped');
  await open('two', 'three');
  await received(2);
  await until(() => world.dispatcher.hold('hook')?.kind === 'over-quota');
});

it('names a target that waits for it, no other, and no longer than it waits', async () => {
  await start(1, noting('hook'), noting('idle'));
  await open('one', 'two');
  await received(1);
  await until(() => world.dispatcher.hold('hook')?.kind === 'over-quota');
  expect(world.dispatcher.hold('hook')).toMatchObject({
    notice: expect.stringContaining(
      '1 deliveries that it may begin in a minute (hosted.quotas.deliveriesPerMinute)',
    ),
    until: world.clock.now() + MINUTE,
  });
  expect(world.dispatcher.hold('idle')).toBeUndefined();
  expect(world.logged).toEqual(['deliveries of the workspace wait']);
  await world.clock.advance(MINUTE);
  await received(2);
  expect(world.dispatcher.hold('hook')).toBeUndefined();
});

it('takes a worker that waits for its quota for none that hangs', async () => {
  const ids = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'];
  await start(1, ...ids.map(id => noting(id)));
  await world.commit(opening({ targets: ids }));
  for (let sent = 1; sent < ids.length; sent++) {
    await received(sent);
    await world.clock.advance(MINUTE);
    expect(world.dispatcher.mostOverdue()?.overdueMs ?? 0).toBeLessThan(MINUTE);
  }
  await received(ids.length);
});

it('counts anew in a process that takes over', async () => {
  await start(1, noting('hook'));
  await open('one', 'two');
  await received(1);
  await start(1, noting('hook'));
  await received(2);
});
