import { expect, it } from 'vitest';
import { deliveryWorld, REFUSED, RETRY, SENT } from '../../test/helpers/delivery-world.ts';
import { closing, type MadeTransition, opening, repeating } from '../../test/helpers/transitions.ts';
import { until } from '../../test/helpers/until.ts';
import { Rate } from '../lib/rate.ts';
import type { Outcome } from '../targets/outcome.ts';
import type { Target } from '../targets/target.ts';

const world = deliveryWorld();

const withFallback = (answer: () => Outcome | undefined) => [
  world.target('hook', answer, 5, { fallback: 'spare' }),
  world.target('spare', () => SENT),
];

it('fails an alarm that was refused, and its end, over to the fallback', async () => {
  world.dispatcher.configure(withFallback(() => REFUSED));
  const alarm = await world.commit(opening());
  await until(() => world.received.length === 2);
  const end = await world.commit(closing(alarm));
  await until(() => world.received.length === 3);
  await world.settled(end, 'skipped');
  expect(world.ordered()).toEqual(['hook ALARM', 'spare ALARM', 'spare OK']);
  await until(async () => (await world.statesOf(alarm))['spare 2'] === 'sent');
  expect(await world.statesOf(alarm)).toEqual({
    'hook 1': 'refused',
    'spare 1': 'sent',
    'hook 2': 'skipped',
    'spare 2': 'sent',
  });
  expect((await world.stored(alarm)).last_error).toBe("status 404; failed over to its fallback 'spare'");
});

it('fails alarms over at once while the target fails, and tries it first with each new one', async () => {
  world.controls.failing = { hook: 'failing' };
  await world.restart();
  let answer: Outcome = RETRY;
  world.dispatcher.configure(withFallback(() => answer));
  const first = await world.commit(opening({ subject: 'a' }));
  await world.settled(first, 'exhausted');
  await until(() => world.received.length === 2);
  answer = SENT;
  await world.settled(await world.commit(opening({ subject: 'b' })), 'sent');
  expect(world.ordered()).toEqual(['hook ALARM', 'spare ALARM', 'hook ALARM']);
  await until(() => world.healthChanges.length > 0);
  expect(world.healthChanges).toEqual([{ target: 'hook', state: 'recovered', reason: '' }]);
});

it('tries to the end to tell the end to a target that has got the alarm, also when it fails meanwhile', async () => {
  let answer: Outcome = SENT;
  world.dispatcher.configure(withFallback(() => answer));
  const alarm = await world.commit(opening());
  await world.settled(alarm, 'sent');
  answer = REFUSED;
  await world.settled(await world.commit(opening({ subject: 'other' })), 'refused');
  answer = RETRY;
  const end = await world.commit(closing(alarm));
  await until(async () => (await world.stored(end)).attempts === 1);
  expect(await world.stored(end)).toMatchObject({ state: 'waiting' });
  answer = SENT;
  await world.clock.advance(6000);
  await world.settled(end, 'sent');
  expect(await world.statesOf(alarm)).toEqual({ 'hook 1': 'sent', 'hook 2': 'sent' });
});

it('gives a fallback that is notified anyhow nothing twice', async () => {
  world.dispatcher.configure(withFallback(() => REFUSED));
  const alarm = await world.commit(opening({ targets: ['hook', 'spare'] }));
  await world.settled(alarm, 'refused');
  await world.settled(await world.commit(closing(alarm)), 'skipped');
  await until(() => world.ordered().filter(one => one.startsWith('spare')).length === 2);
  await world.clock.advance(60_000);
  expect(world.ordered().filter(one => one.startsWith('spare'))).toEqual(['spare ALARM', 'spare OK']);
});

it('reports that a target fails with the first refusal that any message would meet, and that it is well again', async () => {
  let answer: Outcome = REFUSED;
  world.dispatcher.configure([world.target('hook', () => answer)]);
  await world.settled(await world.commit(opening({ subject: 'a' })), 'refused');
  answer = SENT;
  await world.settled(await world.commit(opening({ subject: 'b' })), 'sent');
  await until(() => world.healthChanges.length > 1);
  expect(world.healthChanges).toEqual([
    { target: 'hook', state: 'failing', reason: 'status 404' },
    { target: 'hook', state: 'recovered', reason: '' },
  ]);
});

it('sends no faster than the rate limit of its target, whatever is waiting', async () => {
  world.dispatcher.configure([
    world.target('hook', () => SENT, 5, { pacing: new Rate('3/minute', 3, 60_000) }),
  ]);
  for (let count = 0; count < 7; count++) await world.commit(opening({ subject: `s${count}` }));
  await until(() => world.received.length === 3);
  await world.clock.advance(59_000);
  expect(world.received).toHaveLength(3);
  await world.clock.advance(2000);
  await until(() => world.received.length === 6);
  await world.clock.advance(60_000);
  await until(() => world.received.length === 7);
});

const everySecond = (count: number) => new Rate(`${count}/second`, count, 1000);
const sharing = (id: string, paceKey: string, pacing = everySecond(1)): Target =>
  world.target(id, () => SENT, 1, { pacing, rateLimitKey: paceKey });

it('keeps one rate limit for all targets of one address, round-robin, whatever others do', async () => {
  world.dispatcher.configure([sharing('a', 'one'), sharing('b', 'one'), sharing('c', 'other')]);
  for (let count = 0; count < 2; count++)
    await world.commit(opening({ subject: `s${count}`, targets: ['a', 'b', 'c'] }));
  await until(() => world.received.length === 2);
  for (const received of [4, 5, 6]) {
    await world.clock.advance(999);
    expect(world.received.length).toBe(received - (received === 4 ? 2 : 1));
    await world.clock.advance(1);
    await until(() => world.received.length === received);
  }
  const atOne = world.received.map(one => one.target).filter(id => id !== 'c');
  expect(atOne.toSorted()).toEqual(['a', 'a', 'b', 'b']);
});

it('lets a target go by its own rate limit once no other shares its address', async () => {
  const [quick, slow] = [sharing('a', 'one', everySecond(5)), sharing('b', 'one')];
  world.dispatcher.configure([quick, slow]);
  for (let count = 0; count < 3; count++)
    await world.commit(opening({ subject: `s${count}`, targets: ['a'] }));
  await until(() => world.received.length === 1);
  await world.clock.advance(900);
  expect(world.received).toHaveLength(1);
  world.dispatcher.configure([quick, sharing('b', 'other')]);
  await until(() => world.received.length === 3);
});

it('keeps the bound of all targets together, and each target goes on beside those that hang', async () => {
  world.controls.concurrency = 2;
  const hanging = ['a', 'b', 'c'].map(id => world.target(id, () => undefined, 5));
  world.dispatcher.configure([...hanging, world.target('hook', () => SENT, 5)]);
  for (let count = 0; count < 10; count++)
    await world.commit(opening({ subject: `s${count}`, targets: ['a', 'b', 'c', 'hook'] }));
  await until(() => world.received.filter(one => one.target === 'hook').length === 10);
  expect(world.received.filter(one => one.target !== 'hook')).toHaveLength(5);
  const stopping = world.dispatcher.stop();
  await world.clock.advance(10_000);
  await stopping;
});

it('gives back after a minute what all targets share, for one that waits long, and keeps its own bound', async () => {
  world.controls.concurrency = 1;
  const patient = { ...world.target('mail', () => undefined, 2), patienceMs: 600_000 };
  world.dispatcher.configure([patient, world.target('hook', () => undefined, 5)]);
  for (const subject of ['a', 'b', 'c']) await world.commit(opening({ subject, targets: ['mail'] }));
  await until(() => world.received.length === 2);
  await world.clock.advance(30_000);
  for (const subject of ['d', 'e']) await world.commit(opening({ subject, targets: ['hook'] }));
  await until(() => world.dispatcher.hold('hook')?.kind === 'busy');
  expect(world.received.map(one => one.target)).toEqual(['mail', 'mail', 'hook']);
  await world.clock.advance(30_001);
  await until(() => world.received.length === 4);
  expect(world.received.map(one => one.target)).toEqual(['mail', 'mail', 'hook', 'hook']);
  expect(world.dispatcher.hold('mail')).toEqual({ kind: 'busy', setting: 'concurrency' });
  const stopping = world.dispatcher.stop();
  await world.clock.advance(10_000);
  await stopping;
});

/** As the retry of a person does it. */
async function retry(made: MadeTransition): Promise<number> {
  const id = made.operation.deliveries[0]?.id ?? '';
  const filter = { id, states: ['exhausted', 'refused', 'waiting'] } as const;
  const { rows } = await world.store.storage.transaction(tx =>
    tx.in('default').requeue(filter, { now: world.clock.now(), after: '', limit: 10 }),
  );
  world.dispatcher.reload(new Set(rows.map(row => row.target)));
  return rows.length;
}

it('sends what was given up when it is put back, and after it the end that was skipped for its sake', async () => {
  let answer: Outcome = REFUSED;
  world.dispatcher.configure([world.target('hook', () => answer)]);
  const alarm = await world.commit(opening());
  const end = await world.commit(closing(alarm));
  await world.settled(end, 'skipped');
  answer = SENT;
  expect(await retry(alarm)).toBe(2);
  await world.settled(end, 'sent');
  expect(world.received.map(one => one.event.status)).toEqual(['ALARM', 'ALARM', 'OK']);
  expect(world.received[0]?.id).toBe(world.received[1]?.id);
});

it('leaves alone an alarm whose target has got the end since', async () => {
  let answer: Outcome = REFUSED;
  world.dispatcher.configure([world.target('hook', () => answer)]);
  const alarm = await world.commit(opening());
  await world.settled(alarm, 'refused');
  answer = SENT;
  const reminder = await world.commit(repeating(alarm));
  await world.settled(reminder, 'sent');
  expect(await retry(alarm)).toBe(0);
  expect((await world.stored(alarm)).state).toBe('refused');
});

it('tries what waits for its time at once when it is put back, and then by the schedule from its beginning', async () => {
  world.dispatcher.configure([world.target('hook', () => RETRY)]);
  const made = await world.commit(opening());
  await until(async () => (await world.stored(made)).attempts === 1);
  await world.clock.advance(6000);
  await until(async () => (await world.stored(made)).attempts === 2);
  await retry(made);
  await until(async () => (await world.stored(made)).attempts === 3);
  expect((await world.stored(made)).state).toBe('waiting');
  await world.clock.advance(6000);
  await until(async () => (await world.stored(made)).attempts === 4);
  await world.clock.advance(36_001);
  await world.settled(made, 'exhausted');
  expect(await world.stored(made)).toMatchObject({ attempts: 5 });
});

it.each<[string, Outcome]>([
  ['fails', RETRY],
  ['is refused', REFUSED],
])(
  'tries once more, and at once, what is put back while an attempt is under way that %s',
  async (_how, outcome) => {
    let release = (_outcome: Outcome): void => {};
    const first = new Promise<Outcome>(resolve => {
      release = resolve;
    });
    world.dispatcher.configure([world.target('hook', () => (world.received.length === 1 ? first : SENT))]);
    const alarm = await world.commit(opening());
    const end = await world.commit(closing(alarm));
    await until(() => world.received.length === 1);
    expect(await retry(alarm)).toBe(1);
    release(outcome);
    await world.settled(end, 'sent');
    expect(world.ordered()).toEqual(['hook ALARM', 'hook ALARM', 'hook OK']);
    expect(await world.stored(alarm)).toMatchObject({ state: 'sent', attempts: 2 });
  },
);

it('does not send again what is requeued while an attempt is in flight that arrives', async () => {
  let release = (_outcome: Outcome): void => {};
  const first = new Promise<Outcome>(resolve => {
    release = resolve;
  });
  world.dispatcher.configure([world.target('hook', () => (world.received.length === 1 ? first : SENT))]);
  const alarm = await world.commit(opening());
  await until(() => world.received.length === 1);
  await retry(alarm);
  release(SENT);
  await world.settled(await world.commit(closing(alarm)), 'sent');
  expect(world.ordered()).toEqual(['hook ALARM', 'hook OK']);
});

it('sends a removed target only the end of what it was notified of, and settles the rest', async () => {
  let answer: Outcome = SENT;
  const hook = world.target('hook', () => answer);
  world.dispatcher.configure([hook]);
  const alarm = await world.commit(opening({ subject: 'told' }));
  await world.settled(alarm, 'sent');
  answer = RETRY;
  const untold = await world.commit(opening({ subject: 'untold' }));
  await until(async () => (await world.stored(untold)).attempts === 1);
  answer = SENT;
  world.dispatcher.configure([], [hook]);
  await world.settled(await world.commit(closing(alarm)), 'sent');
  await world.settled(untold, 'skipped');
  expect(await world.stored(untold)).toMatchObject({
    attempts: 1,
    fault: 'removed',
    last_error: 'target removed: nobody got it in its place',
  });
  expect(world.ordered()).toEqual(['hook ALARM', 'hook ALARM', 'hook OK']);
});

it('sends a removed target the end of what it takes a moment after its removal', async () => {
  let release = (_outcome: Outcome): void => {};
  const first = new Promise<Outcome>(resolve => {
    release = resolve;
  });
  const hook = world.target('hook', () => (world.received.length === 1 ? first : SENT));
  world.dispatcher.configure([hook]);
  const alarm = await world.commit(opening());
  await until(() => world.received.length === 1);
  world.dispatcher.configure([], [hook]);
  const end = await world.commit(closing(alarm));
  // Whatever was to be read of it has been by then.
  for (let read = 0; read < 3; read++) await world.stored(end);
  release(SENT);
  await world.settled(end, 'sent');
  expect(world.ordered()).toEqual(['hook ALARM', 'hook OK']);
});

it('settles every alarm that waits for a removed target, however many, and sends the ends', async () => {
  const hook = world.target('hook', () => SENT);
  const told = opening({ subject: 'told' });
  const rows = told.operation.deliveries.map(row => ({ ...row, state: 'sent' as const, settled_at: 1 }));
  await world.store.storage.commit({ ...told.operation, deliveries: rows });
  const untold = Array.from({ length: 200 }, (_, count) => opening({ subject: `s${count}` }));
  await Promise.all(untold.map(one => world.store.storage.commit(one.operation)));
  world.dispatcher.configure([], [hook]);
  await world.settled(await world.commit(closing(told)), 'sent');
  for (const one of untold) await world.settled(one, 'skipped');
  expect(world.ordered()).toEqual(['hook OK']);
  expect(world.logged).toEqual([]);
});

it('waits as the target says instead of by the schedule', async () => {
  const waits = { kind: 'growing', firstMs: 200, rate: 2, mostMs: 10_000 } as const;
  world.dispatcher.configure([
    world.target('hook', () => (world.received.length < 4 ? { ...RETRY, waits } : SENT)),
  ]);
  const made = await world.commit(opening());
  for (const [ms, count] of [
    [200, 2],
    [2000, 3],
    [4000, 4],
  ] as const) {
    await until(async () => (await world.stored(made)).attempts === count - 1);
    await world.clock.advance(ms);
    await until(() => world.received.length === count);
  }
  await world.settled(made, 'sent');
});

it.each([0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 1])(
  'never stands still, though a clock moves by %f ms while it is read and timers are early',
  async readingMs => {
    world.controls.readingMs = readingMs;
    world.controls.earlyMs = 0.5;
    world.controls.schedule = [0, 1000, 1000, 1000, 1000, 1000, 1000];
    world.dispatcher.configure([world.target('hook', () => (world.received.length < 6 ? RETRY : SENT))]);
    const made = await world.commit(opening());
    for (let attempts = 1; attempts <= 5; attempts++) {
      await until(async () => (await world.stored(made)).attempts >= attempts);
      await world.clock.advance(1500);
    }
    await world.settled(made, 'sent');
  },
);
