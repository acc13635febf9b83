import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { testClock } from '../../../test/helpers/clock.ts';
import { openTestStorage, type TestStorage } from '../../../test/helpers/storage.ts';
import { until } from '../../../test/helpers/until.ts';
import { AppError } from '../../lib/errors.ts';
import type { Logger } from '../../lib/logger.ts';
import { silentLogger } from '../../lib/logger.ts';
import {
  type ComponentIdentity,
  type ComponentIds,
  createComponentIds,
  type Unnamed,
} from './component-ids.ts';

const identity = (pipeline: string, engineId = 'in', facts: Partial<ComponentIdentity> = {}): Unnamed => ({
  group: 'default',
  pipeline,
  engine: 'vector',
  kind: 'input',
  type: 'file',
  engineId,
  id: '',
  ...facts,
});

describe('ids of inputs and outputs', () => {
  let store: TestStorage;
  let commits: number;
  let isRefusing: boolean;
  const clock = testClock();
  const logged: string[] = [];
  const logger: Logger = {
    ...silentLogger,
    error: (_, message) => void logged.push(message),
    info: (_, message) => void logged.push(message),
  };

  beforeEach(async () => {
    store = await openTestStorage();
    commits = 0;
    isRefusing = false;
    logged.length = 0;
  });
  afterEach(() => store.close());

  const open = (mostComponents?: number): ComponentIds =>
    createComponentIds({
      workspace: 'default',
      storage: {
        in: workspace => store.storage.in(workspace),
        transaction(work) {
          if (isRefusing) return Promise.reject(new AppError('unavailable', 'the disk is full'));
          commits++;
          return store.storage.transaction(work);
        },
      },
      clock,
      logger,
      mostComponents,
    });

  const former = new WeakMap<ComponentIdentity, string>();

  /** The ids that these get, in their order, once all are recorded. */
  async function idsOf(ids: ComponentIds, ...wanted: readonly Unnamed[]): Promise<readonly unknown[]> {
    const given: (string | undefined)[] = wanted.map(() => undefined);
    for (const [at, one] of wanted.entries())
      ids.record(one, former.get(one), (_, id) => {
        given[at] = id;
      });
    await ids.recording();
    return given;
  }

  it('are those of the engine for the first that has one, and end with a hash for others', async () => {
    const ids = await idsOf(open(), identity('a'), identity('b'), identity('a', 'in', { kind: 'output' }));
    expect(ids).toEqual(['in', expect.stringMatching(/^in_[0-9a-f]{6}$/), 'in']);
  });

  it('stay, whichever is seen first afterwards, and in whichever group its pipeline is', async () => {
    const [first, second] = await idsOf(open(), identity('a'), identity('b'));
    const moved = identity('a', 'in', { group: 'west', engine: 'custom' });
    expect(await idsOf(open(), identity('b'), moved)).toEqual([second, first]);
  });

  it('never change and never meet, in whichever order things are seen, processes take over, and the store refuses', async () => {
    const things = ['a', 'b', 'c'].flatMap(pipeline =>
      (['input', 'output'] as const).flatMap(kind =>
        ['in', 'in.a', 'in/a', 'in_a'].map(engineId => identity(pipeline, engineId, { kind })),
      ),
    );
    const step = fc.record({
      seen: fc.uniqueArray(fc.nat(things.length - 1), { minLength: 1, maxLength: 6 }),
      comes: fc.constantFrom('the same process', 'the same process', 'another one', 'the disk full'),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 12 }), async steps => {
        await store.storage.transaction(tx => tx.in('default').removeOldestComponents(1000));
        const known = new Map<number, unknown>();
        let ids = open();
        const takeOver = async (): Promise<void> => {
          await ids.stop();
          ids = open();
        };
        for (const { seen, comes } of steps) {
          isRefusing = comes === 'the disk full';
          if (comes === 'another one') await takeOver();
          const given = await idsOf(ids, ...seen.map(at => things[at] ?? identity('a')));
          // What was refused was shown to nobody; another process goes on.
          if (isRefusing) await takeOver();
          isRefusing = false;
          for (const [at, thing] of seen.entries()) {
            const id = given[at];
            if (id !== undefined) expect(known.get(thing) ?? id).toBe(id);
            if (id !== undefined) known.set(thing, id);
          }
          const taken = [...known].map(([thing, id]) => `${things[thing]?.kind} ${id}`);
          expect(new Set(taken).size).toBe(known.size);
        }
        await ids.stop();
      }),
      { numRuns: 60 },
    );
  });

  it('differ where names become the same when other characters are replaced', async () => {
    const names = ['in.a', 'in/a', 'in_a'].map(name => identity('a', name));
    const given = await idsOf(open(), ...names);
    expect(given[0]).toBe('in_a');
    expect(new Set(given).size).toBe(3);
    expect(await idsOf(open(), ...names.toReversed())).toEqual(given.toReversed());
  });

  it('do not depend on what else was there for one that comes second', async () => {
    const [, second] = await idsOf(open(), identity('a'), identity('b'));
    await store.storage.transaction(tx => tx.in('default').removeOldestComponents(2));
    expect((await idsOf(open(), identity('c'), identity('d'), identity('b')))[2]).toBe(second);
  });

  it('go on from a snapshot that was written before ids were recorded', async () => {
    const one = identity('a');
    former.set(one, 'in_d0445b');
    expect(await idsOf(open(), identity('b'), one)).toEqual(['in', 'in_d0445b']);
    former.set(one, 'in_other');
    expect(await idsOf(open(), one)).toEqual(['in_d0445b']);
  });

  it('are recorded in one commit for a page, and in none when all are known', async () => {
    const page = Array.from({ length: 300 }, (_, at) => identity('a', `in${at}`));
    await idsOf(open(), ...page);
    expect(commits).toBe(1);
    expect(await idsOf(open(), ...page)).toEqual(page.map(({ engineId }) => engineId));
    expect(commits).toBe(1);
  });

  it('are shown to nobody before they are recorded, which is tried until the store takes them', async () => {
    const ids = open();
    isRefusing = true;
    const shown: string[] = [];
    for (const name of ['x', 'y']) ids.record(identity('a', name), undefined, (_, id) => void shown.push(id));
    await ids.recording();
    ids.record(identity('a', 'z'), undefined, (_, id) => void shown.push(id));
    expect(ids.recording()).toBeUndefined();
    await clock.advance(5000);
    await ids.recording();
    expect(shown).toEqual([]);
    expect(logged).toEqual(['ids of new inputs and outputs cannot be recorded, so these are not shown yet']);
    isRefusing = false;
    await clock.advance(1000);
    await until(() => shown.length === 3, 'all three are shown');
    expect(shown).toEqual(['x', 'y', 'z']);
    expect(logged).toHaveLength(2);
    expect(await store.storage.in('default').components.count()).toBe(3);
  });

  it('are recorded for nobody once a process has stopped', async () => {
    const ids = open();
    isRefusing = true;
    const shown: string[] = [];
    ids.record(identity('a'), undefined, (_, id) => void shown.push(id));
    await ids.recording();
    await ids.stop();
    isRefusing = false;
    ids.record(identity('b'), undefined, (_, id) => void shown.push(id));
    await clock.advance(5000);
    expect([shown, commits]).toEqual([[], 0]);
  });

  it('are kept of five times as many as may be, and make room when what they are of is gone longest', async () => {
    const ids = open(2);
    const present = { ...identity('a', 'present'), id: 'present' };
    await idsOf(ids, present);
    for (let at = 0; at < 9; at++) await idsOf(ids, identity('a', `in${at}`));
    await clock.advance(24 * 3_600_000);
    await ids.touch([present]);
    await ids.touch([present]);
    const touched = 10 + 1;
    expect(commits).toBe(touched);
    await idsOf(ids, identity('a', 'late'), identity('a', 'later'));
    const { components } = store.storage.in('default');
    expect(await components.count()).toBe(10);
    await idsOf(open(2), identity('a', 'latest'));
    expect(await components.count()).toBe(10);
    // The id of a neighbour is free now, and that of what is there is not.
    expect(await idsOf(ids, identity('b', 'present'))).toEqual([expect.stringMatching(/^present_/)]);
  });
});
