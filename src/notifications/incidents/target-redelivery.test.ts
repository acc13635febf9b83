import { afterEach, beforeEach, expect, it } from 'vitest';
import { RedeliveryWorld } from '../../../test/helpers/redelivery-world.ts';
import { openTestStorage } from '../../../test/helpers/storage.ts';
import { until } from '../../../test/helpers/until.ts';
import { configureInhibition } from '../inhibition/inhibition-rule.ts';

let world: RedeliveryWorld;
beforeEach(async () => {
  world = new RedeliveryWorld(await openTestStorage());
});
afterEach(async () => {
  await world.stop();
  await world.store.close();
});

const untilStates = (...states: string[]): Promise<void> =>
  until(async () => {
    await world.quiet();
    return JSON.stringify(await world.states()) === JSON.stringify(states);
  }, states.join(', '));

it('sends again what was refused of an incident that is open once something arrives, and says how many', async () => {
  await world.start();
  world.answers.set('a', 'refusing');
  await world.post('x', 'ALARM');
  await untilStates('a ALARM refused');
  world.answers.set('a', 'up');
  await world.post('y', 'ALARM');
  await untilStates('a ALARM sent', 'a ALARM sent');
  await until(
    async () =>
      (await world.text('headgate-deliveries-a'))?.startsWith('Target a is well again: 1 alarm ') === true,
  );
});

it('leaves alone what the receiver objected to, what is over, and what may have arrived', async () => {
  world.setup.schedule = [0];
  await world.start();
  for (const [key, answer] of [
    ['objected', 'objecting'],
    ['over', 'refusing'],
    ['perhaps', 'silent'],
  ] as const) {
    world.answers.set('a', answer);
    await world.post(key, 'ALARM');
  }
  await world.post('over', 'OK');
  world.answers.set('a', 'up');
  await world.post('y', 'ALARM');
  await untilStates('a ALARM refused', 'a ALARM refused', 'a ALARM unknown', 'a OK skipped', 'a ALARM sent');
});

it('leaves alone what its fallback has delivered', async () => {
  world.setup.targets = ['a', 'b'];
  world.setup.recipients = ['a'];
  world.setup.settings = { a: { fallback: 'b' } };
  await world.start();
  world.answers.set('a', 'refusing');
  await world.post('x', 'ALARM');
  world.answers.set('a', 'up');
  await world.post('y', 'ALARM');
  await untilStates('a ALARM refused', 'b ALARM sent', 'a ALARM sent');
  await world.quiet(1000);
  expect((await world.deliveries({ target: 'a' }))[0]).toMatchObject({ state: 'refused', redelivered: 0 });
});

it('sends again what its fallback lost, too', async () => {
  world.setup.targets = ['a', 'b'];
  world.setup.recipients = ['a'];
  world.setup.settings = { a: { fallback: 'b' } };
  await world.start();
  for (const id of ['a', 'b']) world.answers.set(id, 'refusing');
  await world.post('x', 'ALARM');
  await untilStates('a ALARM refused', 'b ALARM refused');
  world.answers.set('a', 'up');
  await world.post('y', 'ALARM');
  await untilStates('a ALARM sent', 'b ALARM refused', 'a ALARM sent');
});

it('sends each alarm again once for each recovery, and three times in all', async () => {
  await world.start();
  world.refusedKeys.add('x');
  await world.post('x', 'ALARM');
  const requests = (): number[] => [...world.requests.values()];
  for (const [index, made] of [2, 3, 4, 4, 4].entries()) {
    await world.post(`probe ${index}`, 'ALARM');
    await world.quiet(1000);
    expect(requests()[0]).toBe(made);
  }
  expect((await world.deliveries())[0]).toMatchObject({ state: 'refused', redelivered: 3 });
});

it('sends only the newest state of an incident', async () => {
  await world.start();
  world.answers.set('a', 'refusing');
  for (const _ of ['opened', 'again']) await world.post('x', 'ALARM');
  world.answers.set('a', 'up');
  await world.post('y', 'ALARM');
  await world.quiet(1000);
  const states = await world.states();
  expect(states.slice(-2)).toEqual(['a ALARM sent', 'a ALARM sent']);
  expect(states.slice(0, -2).every(state => state === 'a ALARM refused')).toBe(true);
});

it('keeps what was given up where redeliverOnRecovery is false', async () => {
  world.setup.settings = { a: { redeliverOnRecovery: false } };
  await world.start();
  world.answers.set('a', 'refusing');
  await world.post('x', 'ALARM');
  world.answers.set('a', 'up');
  await world.post('y', 'ALARM');
  await world.quiet(1000);
  expect(await world.states()).toEqual(['a ALARM refused', 'a ALARM sent']);
});

it.each([
  ['a test that arrived', () => world.dispatcher.markWell('a')],
  [
    'changed settings',
    () => {
      world.setup.settings = { a: { description: 'mended' } };
      world.configure();
    },
  ],
])('takes %s for a recovery', async (_, recover) => {
  await world.start();
  world.answers.set('a', 'refusing');
  await world.post('x', 'ALARM');
  await untilStates('a ALARM refused');
  world.answers.set('a', 'up');
  recover();
  await untilStates('a ALARM sent');
});

it('waits for the end of a mute window that has begun meanwhile', async () => {
  await world.start();
  world.answers.set('a', 'refusing');
  await world.post('x', 'ALARM');
  await untilStates('a ALARM refused');
  world.setup.isMuted = true;
  world.configure();
  world.answers.set('a', 'up');
  world.dispatcher.markWell('a');
  await world.quiet(120_000);
  expect(await world.states()).toEqual(['a ALARM grouped']);
  world.setup.isMuted = false;
  world.configure();
  await world.quiet(60_000);
  await untilStates('a ALARM sent');
});

it('waits for the end of a silence that fits by now, says so, and sends it then and not before', async () => {
  await world.start();
  world.answers.set('a', 'refusing');
  await world.post('x', 'ALARM');
  await untilStates('a ALARM refused');
  await world.silence(90_000);
  world.answers.set('a', 'up');
  world.dispatcher.markWell('a');
  await untilStates('a ALARM grouped');
  const [held] = await world.deliveries();
  expect(held).toMatchObject({ silenced_by: 's1', next_at: world.clock.now() + 90_000, redelivered: 1 });
  await until(
    async () =>
      (await world.text('headgate-deliveries-a'))?.includes('1 of them once nothing silences') === true,
  );
  await world.quiet(60_000);
  expect(await world.states()).toEqual(['a ALARM grouped']);
  await world.quiet(60_000);
  await untilStates('a ALARM sent');
  expect(world.taken).toHaveLength(1);
});

it.each(['at once', 'after a restart'])(
  'ends a silence until resolved with what it holds back of a target that is well again, %s',
  async when => {
    await world.start();
    world.answers.set('a', 'refusing');
    await world.post('x', 'ALARM');
    await untilStates('a ALARM refused');
    await world.silence(86_400_000, { untilResolved: true });
    world.answers.set('a', 'up');
    world.dispatcher.markWell('a');
    await untilStates('a ALARM grouped');
    if (when === 'after a restart') await world.restart();
    await world.post('x', 'OK');
    const endsAt = async () => (await world.stores.silences.get('s1'))?.ends_at;
    await until(async () => ((await endsAt()) ?? Infinity) <= world.clock.now());
  },
);

it.each(['at once', 'after a restart'])(
  'sends nothing of what a silence holds back when its incident is over before, %s',
  async when => {
    await world.start();
    world.answers.set('a', 'refusing');
    await world.post('x', 'ALARM');
    await untilStates('a ALARM refused');
    await world.silence(90_000);
    world.answers.set('a', 'up');
    world.dispatcher.markWell('a');
    await untilStates('a ALARM grouped');
    if (when === 'after a restart') await world.restart();
    await world.post('x', 'OK');
    await untilStates('a ALARM skipped');
    await world.quiet(200_000);
    expect([await world.states(), world.taken]).toEqual([['a ALARM skipped'], []]);
  },
);

it('pulls what waits forward with the first success, each once', async () => {
  await world.start();
  world.answers.set('a', 'down');
  for (const key of ['x', 'y']) await world.post(key, 'ALARM');
  world.answers.set('a', 'up');
  await world.post('z', 'ALARM');
  await untilStates('a ALARM sent', 'a ALARM sent', 'a ALARM sent');
});

it.each(['removed for another', 'renamed'])(
  'moves what waits for a target that is %s, with its end',
  async () => {
    await world.start();
    world.answers.set('a', 'down');
    await world.post('x', 'ALARM');
    world.setup.targets = ['b'];
    world.configure();
    await untilStates('a ALARM skipped', 'b ALARM sent');
    await world.quiet(1000);
    expect(await world.text('headgate-deliveries-a')).toBe(
      'Target a was removed: 1 alarm that waited for it went to b',
    );
    expect((await world.deliveries({ target: 'a' }))[0]?.last_error).toBe(
      "target removed: 'b' got it in its place",
    );
    await world.post('x', 'OK');
    await until(() => world.taken.some(({ target, status }) => target === 'b' && status === 'OK'));
    expect(world.taken.map(({ target, status }) => `${target} ${status}`)).toEqual(['b ALARM', 'b OK']);
  },
);

it('leaves what waits for a removed target where it is until a silence that fits it is over', async () => {
  await world.start();
  world.answers.set('a', 'down');
  await world.post('x', 'ALARM');
  await world.silence(30_000);
  world.setup.targets = ['b'];
  world.configure();
  await world.quiet(1000);
  expect(await world.states()).toEqual(['a ALARM waiting']);
  for (let minute = 0; minute < 120; minute++) await world.clock.advance(60_000);
  await untilStates('a ALARM skipped', 'b ALARM sent');
});

/** While `root` is open, nobody gets anything of `x`. */
const ROOT_FIRST = configureInhibition({
  id: 'root_first',
  when: [{ name: 'key', value: 'root' }],
  hold: [{ name: 'key', value: 'x' }],
});

it('waits for the end of an incident that inhibits it by now, and is sent when that is over', async () => {
  world.setup.inhibitions = [ROOT_FIRST];
  await world.start();
  world.answers.set('a', 'refusing');
  await world.post('x', 'ALARM');
  await untilStates('a ALARM refused');
  world.answers.set('a', 'up');
  await world.post('root', 'ALARM');
  await untilStates('a ALARM grouped', 'a ALARM sent');
  const [held, root] = await world.deliveries();
  expect(held).toMatchObject({
    ...{ inhibited_by: root?.incident_id, inhibition: 'root_first', next_at: null, redelivered: 1 },
  });
  await world.restart();
  await world.quiet(120_000);
  await untilStates('a ALARM grouped', 'a ALARM sent');
  await world.post('root', 'OK');
  await untilStates('a ALARM sent', 'a ALARM sent', 'a OK sent');
  expect(world.taken.map(({ key, status }) => `${key} ${status}`)).toEqual([
    'root ALARM',
    'root OK',
    'x ALARM',
  ]);
});

it('leaves what waits for a removed target where it is while an incident inhibits it', async () => {
  world.setup.inhibitions = [ROOT_FIRST];
  await world.start();
  world.answers.set('a', 'down');
  await world.post('x', 'ALARM');
  world.setup.targets = ['b'];
  await world.post('root', 'ALARM');
  world.configure();
  for (let minute = 0; minute < 120; minute++) await world.clock.advance(60_000);
  expect((await world.deliveries()).filter(row => row.subject === 'x').map(row => row.state)).toEqual([
    'waiting',
  ]);
  await world.post('root', 'OK');
  for (let minute = 0; minute < 120; minute++) await world.clock.advance(60_000);
  await until(async () =>
    (await world.deliveries()).some(row => row.subject === 'x' && row.target === 'b' && row.state === 'sent'),
  );
});

it('says that nobody is left where a target is removed without another, and sends it when it is back', async () => {
  await world.start();
  world.answers.set('a', 'down');
  await world.post('x', 'ALARM');
  world.setup.targets = [];
  world.configure();
  await untilStates('a ALARM skipped');
  await world.quiet(1000);
  expect(await world.text('headgate-deliveries-a')).toBe(
    'Target a was removed: 1 alarm that waited for it went to nobody',
  );
  world.answers.set('a', 'up');
  world.setup.targets = ['a'];
  world.configure();
  await untilStates('a ALARM sent');
});
