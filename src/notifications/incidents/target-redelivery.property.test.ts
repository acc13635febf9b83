import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type Answer, RedeliveryWorld } from '../../../test/helpers/redelivery-world.ts';
import { openTestStorage } from '../../../test/helpers/storage.ts';

const TARGETS = ['a', 'b', 'c'];
/** The longest of the silences below. */
const SILENCE_MS = 7_200_000;
const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('alarm' as const), key: fc.constantFrom('x', 'y', 'z') }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('end' as const), key: fc.constantFrom('x', 'y', 'z') }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('answer' as const),
      target: fc.constantFrom(...TARGETS, 'd'),
      answer: fc.constantFrom('up', 'refusing', 'down', 'objecting', 'silent'),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('toggle' as const), target: fc.constantFrom(...TARGETS, 'd') }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('rename' as const),
      target: fc.constantFrom(...TARGETS, 'd'),
      to: fc.constantFrom(...TARGETS, 'd'),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('silence' as const),
      ms: fc.constantFrom(500, 65_000, SILENCE_MS),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('mute' as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('restart' as const), setBackMs: fc.constantFrom(0, 86_400_000) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('pass' as const), ms: fc.constantFrom(1000, 70_000, 3_700_000) }),
  },
);
type Step = typeof step extends fc.Arbitrary<infer Made> ? Made : never;

async function take(world: RedeliveryWorld, made: Step): Promise<void> {
  switch (made.do) {
    case 'alarm':
      return world.post(made.key, 'ALARM');
    case 'end':
      return world.post(made.key, 'OK');
    case 'answer':
      world.answers.set(made.target, ANSWER_NAMES.find(name => name === made.answer) ?? 'up');
      return undefined;
    case 'toggle': {
      const { targets } = world.setup;
      const has = targets.includes(made.target);
      world.setup.targets = has ? targets.filter(id => id !== made.target) : [...targets, made.target];
      world.configure();
      return world.quiet();
    }
    case 'rename': {
      const { targets } = world.setup;
      if (!targets.includes(made.to))
        world.setup.targets = targets.map(id => (id === made.target ? made.to : id));
      world.configure();
      return world.quiet();
    }
    case 'silence':
      return world.silence(made.ms);
    case 'mute':
      world.setup.isMuted = !world.setup.isMuted;
      world.configure();
      return undefined;
    case 'restart':
      await world.stop();
      world.clock.step(-made.setBackMs);
      return world.start();
    case 'pass':
      return world.quiet(made.ms);
  }
}

const ANSWER_NAMES: readonly Answer[] = ['up', 'refusing', 'down', 'objecting', 'silent'];

it('notifies of every incident that is open at the end, or says why not, whatever happened to its targets', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 25 }), async steps => {
      const world = new RedeliveryWorld(await openTestStorage(), 5000);
      await world.start();
      for (const made of steps) await take(world, made);
      await world.quiet(SILENCE_MS);
      // All is well at last, and everybody sees that by one more alarm.
      world.setup.isMuted = false;
      world.setup.targets = [...TARGETS];
      for (const id of TARGETS) world.answers.set(id, 'up');
      world.configure();
      await world.quiet(120_000);
      await world.post('last', 'ALARM');
      for (let turn = 0; turn < 3; turn++) await world.quiet(120_000);

      const rows = await world.deliveries();
      expect(rows.filter(({ state }) => state === 'waiting' || state === 'grouped')).toEqual([]);
      for (const { id } of await world.stores.incidents.open())
        for (const target of TARGETS) {
          const newest = rows.findLast(
            row => row.incident_id === id && row.target === target && row.status === 'ALARM',
          );
          const isExplained =
            newest === undefined ||
            newest.state === 'sent' ||
            newest.state === 'unknown' ||
            newest.fault === 'message' ||
            newest.redelivered === 3 ||
            (newest.fault === 'removed' && newest.last_error?.includes('nobody') === false);
          expect(isExplained, JSON.stringify(newest)).toBe(true);
        }
      // Nobody gets an end without an alarm.
      const alarmed = new Set<string>();
      for (const { target, status, key } of world.taken)
        if (status === 'ALARM') alarmed.add(`${target} ${key}`);
        else expect(alarmed, `${target} ${key}`).toContain(`${target} ${key}`);
      expect(rows.every(({ redelivered }) => redelivered <= 3)).toBe(true);
      await world.stop();
      await world.store.close();
    }),
    { numRuns: 15 },
  );
});
