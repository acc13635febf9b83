import { expect, it, onTestFinished } from 'vitest';
import { deliveryWorld, REFUSED, RETRY, SENT } from '../../test/helpers/delivery-world.ts';
import { closing, opening } from '../../test/helpers/transitions.ts';
import { until } from '../../test/helpers/until.ts';
import { AppError } from '../lib/errors.ts';
import type { DeliveryRow } from '../storage/stores/deliveries.ts';
import type { Outcome } from '../targets/outcome.ts';
import type { Target } from '../targets/target.ts';
import { webhook } from '../targets/webhook/webhook.ts';

const world = deliveryWorld();

it('sends an event with its system fields and without internal ones, and records it', async () => {
  world.dispatcher.configure([world.target('hook', () => SENT)]);
  const made = await world.commit(opening());
  await world.settled(made, 'sent');
  expect(world.received).toHaveLength(1);
  expect(world.received[0]?.id).toBe(made.operation.deliveries[0]?.id);
  expect(world.received[0]?.event).toMatchObject({
    id: made.event.id,
    cribl_host: 'gate',
    cribl_pipe: 'edge',
  });
  expect(Object.keys(world.received[0]?.event ?? {}).filter(name => name.startsWith('__'))).toEqual([]);
});

it('tries again by the schedule with the same id, then keeps the exhausted one with its last error', async () => {
  world.dispatcher.configure([world.target('hook', () => RETRY)]);
  const made = await world.commit(opening());
  await until(async () => (await world.stored(made)).attempts === 1);
  await world.clock.advance(4900);
  expect(world.received).toHaveLength(1);
  await world.clock.advance(200);
  await until(async () => (await world.stored(made)).attempts === 2);
  await world.clock.advance(31_000);
  await world.settled(made, 'exhausted');
  expect(world.received).toHaveLength(3);
  expect(new Set(world.received.map(one => one.id)).size).toBe(1);
  expect(await world.stored(made)).toMatchObject({ attempts: 3, last_error: 'status 503', last_status: 503 });
});

it('sends the resolution after its alarm, however long that takes', async () => {
  let up = false;
  world.dispatcher.configure([world.target('hook', () => (up ? SENT : RETRY))]);
  const alarm = await world.commit(opening());
  const resolution = await world.commit(closing(alarm));
  await until(async () => (await world.stored(alarm)).attempts === 1);
  up = true;
  await world.clock.advance(6000);
  await world.settled(resolution, 'sent');
  expect(world.received.map(one => one.event.status)).toEqual(['ALARM', 'ALARM', 'OK']);
});

it('skips a resolution whose alarm was refused', async () => {
  world.dispatcher.configure([world.target('hook', () => REFUSED)]);
  const alarm = await world.commit(opening());
  await world.settled(alarm, 'refused');
  const resolution = await world.commit(closing(alarm));
  await world.settled(resolution, 'skipped');
  expect(world.received).toHaveLength(1);
});

it('skips what goes to a target whose settings say that nothing is sent, with its reason', async () => {
  world.dispatcher.configure([{ ...world.target('hook', () => SENT), skipReason: () => 'logging off' }]);
  const alarm = await world.commit(opening());
  const end = await world.commit(closing(alarm));
  for (const made of [alarm, end]) {
    await world.settled(made, 'skipped');
    expect(await world.stored(made)).toMatchObject({ attempts: 0, last_error: 'logging off' });
  }
  expect(world.received).toEqual([]);
});

it('skips what srcExpression of a webhook drops, beside what is sent together with it', async () => {
  const batching = { maxEvents: 10, maxBytes: 10_000, lingerMs: 0 };
  const { skipReason: skipsBecause } = webhook.configure({
    id: 'hook',
    type: 'webhook',
    url: 'https://hooks.example/x',
    srcExpression: '_raw.includes(" noise ") ? null : _raw',
    customDropWhenNull: true,
  });
  const hook = world.target('hook', () => SENT, 1, { batching });
  world.dispatcher.configure([{ ...hook, ...(skipsBecause && { skipReason: skipsBecause }) }]);
  const dropped = await world.commit(opening({ subject: 'noise' }));
  await world.settled(dropped, 'skipped');
  expect(await world.stored(dropped)).toMatchObject({ attempts: 0, last_error: 'dropped by srcExpression' });
  const made = [];
  for (const subject of ['a', 'more noise', 'c']) made.push(await world.commit(opening({ subject })));
  for (const one of made) await world.settled(one, one.event._raw.includes('noise') ? 'skipped' : 'sent');
  const texts = world.received.flatMap(({ events }) => events.map(event => event._raw));
  expect(texts.toSorted()).toEqual(['Source a had no data for 60s', 'Source c had no data for 60s']);
});

it('divides what would travel together by where it goes, and loses nothing of it', async () => {
  const batching = { maxEvents: 10, maxBytes: 10_000, lingerMs: 60_000 };
  let release = (): void => {};
  const released = new Promise<void>(resolve => {
    release = resolve;
  });
  const hook = world.target('hook', () => released.then(() => SENT), 1, { batching });
  world.dispatcher.configure([{ ...hook, requestKey: event => event._raw.slice(0, 'Source x'.length) }]);
  const made = [];
  for (const subject of ['z', 'a1', 'b1', 'a2', 'b2', 'c1'])
    made.push(await world.commit(opening({ subject })));
  release();
  for (const one of made) await world.settled(one, 'sent');
  const requests = world.received.map(({ events }) =>
    events.map(event => event._raw.slice(7, 9).trim()).sort(),
  );
  expect(requests.map(subjects => subjects.join(' ')).toSorted()).toEqual(['a1 a2', 'b1 b2', 'c1', 'z']);
});

it('gives the target after a restart what the attempt before has left to do, until it is sent', async () => {
  const rests: (string | undefined)[] = [];
  const mail: Target = {
    ...world.target('hook', () => SENT),
    async send(_, { rest }) {
      rests.push(rest);
      if (rests.length === 1) return { ...RETRY, rest: 'slow@example.com' };
      return rests.length === 2 ? RETRY : SENT;
    },
  };
  world.dispatcher.configure([mail]);
  const made = await world.commit(opening());
  await until(async () => (await world.stored(made)).attempts === 1);
  await world.restart();
  world.dispatcher.configure([mail]);
  for (const waitMs of [6000, 40_000]) await world.clock.advance(waitMs);
  await until(async () => {
    await world.clock.advance(10_000);
    return rests.length === 3;
  });
  await world.settled(made, 'sent');
  expect(rests).toEqual([undefined, 'slow@example.com', 'slow@example.com']);
  expect(await world.stored(made)).toMatchObject({ remainder: null });
});

it('never lets a target that hangs hold another', async () => {
  world.dispatcher.configure([world.target('dead', () => undefined, 1), world.target('hook', () => SENT)]);
  for (let count = 0; count < 20; count++)
    await world.commit(opening({ subject: `s${count}`, targets: ['dead', 'hook'] }));
  await until(() => world.received.filter(one => one.target === 'hook').length === 20);
  expect(world.received.filter(one => one.target === 'dead')).toHaveLength(1);
  const stopping = world.dispatcher.stop();
  await world.clock.advance(10_000);
  await stopping;
});

it('pauses the whole target when the receiver asks everybody to slow down', async () => {
  let limited = true;
  world.dispatcher.configure([
    world.target('hook', () => (limited ? { ...RETRY, retryAfterMs: 20_000, pauseTarget: true } : SENT), 1),
  ]);
  const first = await world.commit(opening({ subject: 'a' }));
  await until(async () => (await world.stored(first)).attempts === 1);
  const second = await world.commit(opening({ subject: 'b' }));
  limited = false;
  await world.clock.advance(19_000);
  expect(world.received).toHaveLength(1);
  await world.clock.advance(2000);
  await world.settled(first, 'sent');
  await world.settled(second, 'sent');
});

it('goes on after a restart with what was not world.settled, under the same ids and in order', async () => {
  const alarm = await world.commit(opening());
  const resolution = await world.commit(closing(alarm));
  await world.restart();
  world.dispatcher.configure([world.target('hook', () => SENT)]);
  await world.settled(resolution, 'sent');
  expect(world.received.map(one => one.id)).toEqual(
    [alarm, resolution].map(made => made.operation.deliveries[0]?.id),
  );
});

it('waits for attempts in flight when it stops, and leaves the rest in the store', async () => {
  world.dispatcher.configure([world.target('hook', () => undefined, 1)]);
  const [first, second] = [
    await world.commit(opening({ subject: 'a' })),
    await world.commit(opening({ subject: 'b' })),
  ];
  await until(() => world.received.length === 1);
  const stopping = world.dispatcher.stop();
  await world.clock.advance(10_000);
  await stopping;
  expect(await world.stored(first)).toMatchObject({ state: 'waiting', attempts: 0 });
  expect(await world.stored(second)).toMatchObject({ state: 'waiting', attempts: 0 });
});

it('gives up on an attempt that never ends', async () => {
  world.dispatcher.configure([world.target('hook', () => undefined)]);
  const made = await world.commit(opening());
  await until(() => world.received.length === 1);
  await world.clock.advance(60_000);
  await until(async () => (await world.stored(made)).attempts === 1);
});

it('keeps deliveries of a removed target and sends them when it comes back', async () => {
  world.dispatcher.configure([world.target('hook', () => RETRY)]);
  const made = await world.commit(opening());
  await until(async () => (await world.stored(made)).attempts === 1);
  world.dispatcher.configure([]);
  await world.clock.advance(60_000);
  expect(await world.stored(made)).toMatchObject({ state: 'waiting', attempts: 1 });
  world.dispatcher.configure([world.target('hook', () => SENT)]);
  await world.settled(made, 'sent');
});

it('uses new settings for the next attempt of what is already waiting', async () => {
  world.dispatcher.configure([world.target('hook', () => RETRY)]);
  const made = await world.commit(opening());
  await until(async () => (await world.stored(made)).attempts === 1);
  world.dispatcher.configure([world.target('hook', () => SENT)]);
  await world.clock.advance(6000);
  await world.settled(made, 'sent');
});

it('sends each of more deliveries than it holds in memory once', async () => {
  const many = 12_000;
  const made = Array.from({ length: many }, (_, count) => opening({ subject: `s${count}` }));
  await Promise.all(made.map(one => world.store.storage.commit(one.operation)));
  world.dispatcher.configure([world.target('hook', () => SENT, 32)]);
  await until(() => world.received.length === many);
  await until(async () => (await world.stored(made[many - 1] ?? opening())).state === 'sent');
  expect(new Set(world.received.map(one => one.id)).size).toBe(many);
});

it('goes on when the store could not be read for a while', async () => {
  const made = [opening({ subject: 'a' }), opening({ subject: 'b' })];
  await Promise.all(made.map(one => world.store.storage.commit(one.operation)));
  let faults = 3;
  world.controls.readEvents = async ids => {
    if (faults-- > 0) throw new AppError('unavailable', 'the disk does not answer');
    return world.store.storage.in('default').events.byIds(ids);
  };
  world.dispatcher.configure([world.target('hook', () => SENT, 1)]);
  await until(() => faults < 3);
  await world.clock.advance(5000);
  for (const one of made) await world.settled(one, 'sent');
  expect(world.received).toHaveLength(2);
});

it('asks a store that cannot be read once a second, and logs it once', async () => {
  let asked = 0;
  world.controls.readWaiting = async () => {
    if (++asked > 100) return [];
    throw new AppError('unavailable', 'the disk does not answer');
  };
  world.dispatcher.configure([world.target('hook', () => SENT)]);
  await world.clock.advance(3500);
  expect(asked).toBe(4);
  expect(world.logged).toEqual(['waiting deliveries cannot be read']);
});

it.each([1, 2])(
  'never sends what an earlier worker is still sending, its target gone %i times',
  async times => {
    const hook = world.target('hook', event =>
      event.incidentId === first.event.incidentId ? undefined : SENT,
    );
    const first = opening({ subject: 'a' });
    world.dispatcher.configure([hook]);
    await world.commit(first);
    await until(() => world.received.length === 1);
    for (let time = 0; time < times; time++) {
      world.dispatcher.configure([]);
      world.dispatcher.configure([hook]);
      await world.clock.advance(1);
    }
    await world.commit(opening({ subject: 'b' }));
    await world.clock.advance(1000);
    expect(world.received).toHaveLength(1);
    await world.clock.advance(60_000);
    await until(() => world.received.length >= 2);
  },
);

it('waits at its stop for the attempts of a worker whose target was gone for a while', async () => {
  const hook = world.target('hook', () => undefined);
  world.dispatcher.configure([hook]);
  await world.commit(opening());
  await until(() => world.received.length === 1);
  world.dispatcher.configure([]);
  world.dispatcher.configure([hook]);
  let stopped = false;
  void world.dispatcher.stop().then(() => {
    stopped = true;
  });
  await world.clock.advance(9000);
  expect(stopped).toBe(false);
  await world.clock.advance(1000);
  expect(stopped).toBe(true);
});

it('sends once what it has read and is given a moment later', async () => {
  let answer: Outcome | undefined;
  world.dispatcher.configure([world.target('hook', () => answer)]);
  await world.clock.advance(0);
  const made = opening();
  await world.store.storage.commit(made.operation);
  world.dispatcher.configure([]);
  world.dispatcher.configure([world.target('hook', () => answer)]);
  await until(() => world.received.length === 1);
  answer = SENT;
  world.dispatcher.enqueue(made.operation.deliveries, made.event);
  await world.clock.advance(61_000);
  await world.clock.advance(10_000);
  await world.settled(made, 'sent');
  expect(world.received).toHaveLength(2);
});

it('sends what is due although more than fits in memory waits for its time', async () => {
  const later = world.clock.now() + 1_800_000;
  const waiting = Array.from({ length: 10_500 }, (_, count) => opening({ subject: `w${count}` }));
  const due = Array.from({ length: 50 }, (_, count) => opening({ subject: `d${count}` }));
  const postponed = waiting.map(({ operation }) => ({
    ...operation,
    deliveries: operation.deliveries.map(row => ({ ...row, attempts: 1, next_at: later })),
  }));
  await Promise.all(
    [...postponed, ...due.map(one => one.operation)].map(one => world.store.storage.commit(one)),
  );
  world.dispatcher.configure([world.target('hook', () => SENT, 32)]);
  await until(() => world.received.length === due.length);
  await world.clock.advance(1_800_000);
  await until(() => world.received.length === due.length + waiting.length);
  expect(new Set(world.received.map(one => one.id)).size).toBe(world.received.length);
});

it('waits for a disk that refuses, without spinning and with one line in its log, then records all', async () => {
  world.controls.refusal = new AppError('unavailable', 'the disk is full');
  world.dispatcher.configure([world.target('hook', () => SENT, 32)]);
  const made = Array.from({ length: 600 }, (_, count) => opening({ subject: `s${count}` }));
  await Promise.all(made.map(one => world.store.storage.commit(one.operation)));
  for (const one of made) world.dispatcher.enqueue(one.operation.deliveries, one.event);
  await until(() => world.received.length >= 500);
  await world.clock.advance(3000);
  expect(world.received.length).toBeLessThan(540);
  expect(world.logged).toEqual(['attempts cannot be recorded']);
  world.controls.refusal = undefined;
  await world.clock.advance(1000);
  for (const one of made) await world.settled(one, 'sent');
  expect(world.received).toHaveLength(600);
});

it('records what was sent once the disk takes it, though its target is gone by then', async () => {
  world.controls.refusal = new AppError('unavailable', 'the disk is full');
  world.dispatcher.configure([world.target('hook', () => SENT)]);
  const made = await world.commit(opening());
  await until(() => world.received.length === 1);
  world.dispatcher.configure([]);
  await world.clock.advance(2500);
  world.dispatcher.configure([world.target('hook', () => SENT)]);
  world.controls.refusal = undefined;
  await world.clock.advance(1000);
  await world.settled(made, 'sent');
  expect(world.received).toHaveLength(1);
});

it('is not held up by a wall clock that is set back while an attempt is in flight', async () => {
  world.dispatcher.configure([
    world.target('hook', () => {
      if (world.received.length > 1) return SENT;
      world.clock.step(-86_400_000);
      return RETRY;
    }),
  ]);
  const made = await world.commit(opening());
  await until(async () => (await world.stored(made)).attempts === 1);
  await world.clock.advance(6000);
  await world.settled(made, 'sent');
});

it('is held up for an hour at the most by a wall clock that was set back before a restart', async () => {
  const { operation, event } = opening();
  const deliveries = operation.deliveries.map(row => ({
    ...row,
    attempts: 1,
    next_at: world.clock.now() + 86_400_000,
  }));
  await world.store.storage.commit({ ...operation, deliveries });
  let answered: Promise<readonly DeliveryRow[]> | undefined;
  world.controls.readWaiting = (...query) => {
    answered = world.store.storage.in('default').deliveries.waiting(...query);
    return answered;
  };
  world.dispatcher.configure([world.target('hook', () => SENT)]);
  await until(() => answered !== undefined);
  await answered;
  await world.clock.advance(3_590_000);
  expect(world.received).toHaveLength(0);
  await world.clock.advance(10_000);
  await world.settled({ operation, event }, 'sent');
});

it('sends nothing more once the time for its end is over', async () => {
  const made = opening();
  await world.store.storage.commit(made.operation);
  let answer = (): void => {};
  world.controls.readEvents = async ids => {
    await new Promise<void>(resolve => {
      answer = resolve;
    });
    return world.store.storage.in('default').events.byIds(ids);
  };
  world.dispatcher.configure([world.target('hook', () => undefined)]);
  await until(() => String(answer) !== String(() => {}));
  const stopping = world.dispatcher.stop();
  await world.clock.advance(10_000);
  answer();
  await stopping;
  expect(world.received).toEqual([]);
});

it('ends although a target does not heed its signal', async () => {
  let isBegun = false;
  const send = (): Promise<Outcome> => {
    isBegun = true;
    return new Promise(() => {});
  };
  world.dispatcher.configure([{ ...world.target('hook', () => SENT), send }]);
  const made = await world.commit(opening());
  await until(() => isBegun, 'the attempt');
  const stopping = world.dispatcher.stop();
  await world.clock.advance(10_000);
  await stopping;
  expect(await world.stored(made)).toMatchObject({ state: 'waiting', unknown_attempts: 1 });
});

it('lets no delivery near its end hold the whole target for its own long wait', async () => {
  const limited: Outcome = { kind: 'retry', reason: 'status 429', httpStatus: 429, pauseTarget: true };
  world.controls.schedule = [0, 5000, 28_800_000];
  const { operation } = opening({ subject: 'old' });
  const deliveries = operation.deliveries.map(row => ({ ...row, attempts: 1, next_at: world.clock.now() }));
  await world.store.storage.commit({ ...operation, deliveries });
  world.dispatcher.configure([world.target('hook', () => (world.received.length === 1 ? limited : SENT), 1)]);
  await until(() => world.received.length === 1);
  const fresh = await world.commit(opening({ subject: 'new' }));
  await world.clock.advance(59_000);
  expect(world.received).toHaveLength(1);
  await world.clock.advance(2000);
  await world.settled(fresh, 'sent');
});

it('pauses the target also when the delivery that has to wait is given up', async () => {
  world.controls.schedule = [0];
  const limited: Outcome = { ...RETRY, httpStatus: 429, retryAfterMs: 20_000, pauseTarget: true };
  world.dispatcher.configure([world.target('hook', () => (world.received.length === 1 ? limited : SENT), 1)]);
  const first = await world.commit(opening({ subject: 'a' }));
  await world.settled(first, 'exhausted');
  const second = await world.commit(opening({ subject: 'b' }));
  await world.clock.advance(19_000);
  expect(world.received).toHaveLength(1);
  await world.clock.advance(2000);
  await world.settled(second, 'sent');
});

it('says once that a target fails, and once that it is well again', async () => {
  let answer: Outcome = RETRY;
  world.dispatcher.configure([world.target('hook', () => answer)]);
  for (const subject of ['a', 'b', 'c']) {
    const made = await world.commit(opening({ subject }));
    await until(async () => (await world.stored(made)).attempts === 1);
  }
  await until(() => world.logged.length > 0, 'the first line');
  expect(world.logged).toEqual(['deliveries fail']);
  answer = REFUSED;
  await world.settled(await world.commit(opening({ subject: 'd' })), 'refused');
  await until(() => world.logged.length === 2, 'the second line');
  answer = SENT;
  await world.settled(await world.commit(opening({ subject: 'e' })), 'sent');
  answer = RETRY;
  await world.commit(opening({ subject: 'f' }));
  await until(() => world.logged.length === 3, 'the third line');
});

it('calls a worker overdue whose deliveries are due and do not move, and none that waits for its next attempt', async () => {
  let answer = (_: Outcome): void => {};
  const held = new Promise<Outcome>(resolve => {
    answer = resolve;
  });
  // A worker waits for what is under way when it is stopped.
  onTestFinished(() => answer(SENT));
  world.dispatcher.configure([world.target('stuck', () => held, 1), world.target('dead', () => RETRY)]);
  for (const subject of ['a', 'b']) await world.commit(opening({ targets: ['stuck'], subject }));
  const failing = await world.commit(opening({ targets: ['dead'] }));
  await until(async () => (await world.stored(failing)).attempts === 1);
  await until(() => world.received.length === 2);
  expect(world.dispatcher.mostOverdue()).toBeUndefined();
  await world.clock.advance(4000);
  expect(world.dispatcher.mostOverdue()).toEqual({ target: 'stuck', overdueMs: 4000 });
  answer(SENT);
  await until(() => world.dispatcher.mostOverdue() === undefined);
});

it('keeps of an attempt that a stop cuts off that it may have arrived, and sends it at once after the next start', async () => {
  let answer: Outcome | undefined;
  const cut: Outcome = { kind: 'unknown', reason: 'the request was given up' };
  const cutOff = (): Target => {
    const target = world.target('hook', () => answer);
    return {
      ...target,
      send: async (events, context) => {
        const outcome = await target.send(events, context);
        return context.signal.aborted ? cut : outcome;
      },
    };
  };
  world.dispatcher.configure([cutOff()]);
  const made = await world.commit(opening());
  await until(() => world.received.length === 1);
  const stopping = world.restart();
  await world.clock.advance(10_000);
  await stopping;
  const reason = 'the process was stopped before an answer came; it may not have reached the receiver';
  expect(await world.stored(made)).toMatchObject({
    ...{ state: 'waiting', attempts: 1, unknown_attempts: 1, retried_from: 1, last_error: reason },
  });
  expect(world.healthChanges).toEqual([]);
  answer = REFUSED;
  world.dispatcher.configure([cutOff()]);
  await world.settled(made, 'unknown');
  const end = await world.commit(closing(made));
  await until(() => world.received.length === 3);
  expect(world.ordered()).toEqual(['hook ALARM', 'hook ALARM', 'hook OK']);
  await world.settled(end, 'refused');
});

it('makes due on disk what it sends before its time, so that nobody takes it for waiting after a kill', async () => {
  const answers: (Outcome | undefined)[] = [RETRY, SENT, undefined];
  world.controls.sendsUntil = world.clock.now();
  world.dispatcher.configure([world.target('hook', () => answers.shift())]);
  const made = await world.commit(opening({ subject: 'waits' }));
  await until(async () => (await world.stored(made)).attempts === 1);
  expect((await world.stored(made)).next_at).toBeGreaterThan(world.clock.now());
  await world.settled(await world.commit(opening({ subject: 'arrives' })), 'sent');
  await until(() => world.received.length === 3);
  expect(await world.stored(made)).toMatchObject({ state: 'waiting', attempts: 1, next_at: null });
  const stopping = world.dispatcher.stop();
  await world.clock.advance(10_000);
  await stopping;
});
