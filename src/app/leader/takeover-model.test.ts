import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { observedClockOf, type TestClock, testClock } from '../../../test/helpers/clock.ts';
import { NO_FILES } from '../../../test/helpers/monitor.ts';
import { noHttp } from '../../../test/helpers/no-http.ts';
import { until } from '../../../test/helpers/until.ts';
import { dialects } from '../../../test/storage/dialects.ts';
import { AppError } from '../../lib/errors.ts';
import { silentLogger } from '../../lib/logger.ts';
import type { Component } from '../../pipelines/components/component.ts';
import { createComponentIds } from '../../pipelines/components/component-ids.ts';
import { createMonitor, type Monitor } from '../../pipelines/monitor.ts';
import { pipelineSchema } from '../../pipelines/settings.ts';
import { snapshotInStore } from '../../pipelines/snapshot/stored.ts';
import type { Storage } from '../../storage/storage.ts';
import { fencedStorage } from './lease.ts';

/**
 * Processes that lead one after the other on one store, and pushes to them that name inputs and outputs in any order. The
 * names are those that want the same ids. A process is stopped, is killed at any moment of a commit, or goes on for a
 * while after another one has taken over.
 */
const PIPELINES = ['a', 'b'];
const NAMES = PIPELINES.flatMap(pipeline =>
  (['input', 'output'] as const).flatMap(kind =>
    ['in', 'in.x', 'in/x', 'in_x'].map(id => ({ pipeline, kind, id })),
  ),
);
type Name = (typeof NAMES)[number];

/** What the store does with the transactions of a process. */
type Fault = 'none' | 'refuses' | 'commits and never answers';

interface Process {
  readonly monitor: Monitor;
  fault: Fault;
  /** Transactions that were committed. */
  commits: number;
}

const names = fc.subarray(NAMES, { minLength: 1 }).chain(some => fc.shuffledSubarray(some, { minLength: 1 }));
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('push' as const), names }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('stop' as const) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('kill' as const) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('kill amid a commit' as const), names }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('push to the one before' as const), names }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('push while the store refuses' as const), names }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('damage the snapshot' as const) }) },
);
type Step = typeof step extends fc.Arbitrary<infer One> ? One : never;

class World {
  readonly #storage: Storage;
  readonly #clock: TestClock = testClock();
  readonly #started: Process[] = [];
  /** The id that was shown for each identity, and of what an id was shown. */
  readonly #shown = new Map<string, string>();
  readonly #meant = new Map<string, string>();
  #leading: Process | undefined;
  #before: Process | undefined;

  constructor(storage: Storage) {
    this.#storage = storage;
  }

  async run(steps: readonly Step[]): Promise<void> {
    await this.#takeOver();
    for (const one of steps) {
      await this.#take(one);
      await this.#clock.advance(700);
      for (const process of this.#started) await this.#look(process);
    }
    await this.#storage.transaction(async () => {});
    for (const { monitor, fault } of this.#started) if (fault === 'none') await monitor.stop();
  }

  async #take(one: Step): Promise<void> {
    const leading = this.#leading;
    if (leading === undefined) throw new Error('nobody leads');
    switch (one.kind) {
      case 'push':
        await push(leading.monitor, one.names);
        return this.#expectShown(leading, one.names);
      case 'stop': {
        const before = silences(leading.monitor);
        await leading.monitor.stop();
        await this.#takeOver();
        for (const [key, ms] of silences(this.#leading?.monitor))
          expect([key, ms]).toEqual([key, before.get(key)]);
        return expect(silences(this.#leading?.monitor).size).toBe(before.size);
      }
      case 'kill':
        return this.#takeOver();
      case 'kill amid a commit': {
        leading.fault = 'commits and never answers';
        const { commits } = leading;
        void push(leading.monitor, one.names);
        // What the store knows already needs no commit.
        await until(() => leading.commits > commits || this.#areShown(one.names), 'the commit');
        return this.#takeOver();
      }
      case 'push to the one before':
        if (this.#before?.fault === 'none') await push(this.#before.monitor, one.names);
        return undefined;
      case 'push while the store refuses': {
        leading.fault = 'refuses';
        await push(leading.monitor, one.names);
        await this.#look(leading);
        leading.fault = 'none';
        await this.#clock.advance(1000);
        return until(() => this.#areShown(one.names), 'the store to be tried again');
      }
      case 'damage the snapshot':
        return this.#storage.transaction(tx =>
          tx.in('default').completeSnapshot({ id: randomUUID(), data: 'damaged' }),
        );
    }
  }

  async #takeOver(): Promise<void> {
    const { leases } = this.#storage;
    const held = await leases.holder('engine');
    if (held !== undefined) await leases.release(held);
    const lease = await leases.take('engine', `process ${this.#started.length}`, 600_000);
    if (lease === undefined) throw new Error('the lease is not free');
    const term = { lease, isCurrent: () => true, signal: new AbortController().signal, markLost: () => {} };
    const fenced = fencedStorage(this.#storage, term);
    const transaction: Storage['transaction'] = async work => {
      if (process.fault === 'refuses') throw new AppError('unavailable', 'the disk is full');
      const result = await fenced.transaction(work);
      process.commits++;
      if (process.fault === 'commits and never answers') return new Promise(() => {});
      return result;
    };
    const common = { workspace: 'default', storage: { ...this.#storage, transaction } };
    const clock = this.#clock;
    const process: Process = {
      fault: 'none',
      commits: 0,
      monitor: createMonitor({
        http: noHttp,
        clock: observedClockOf(clock),
        logger: silentLogger,
        files: NO_FILES,
        meter: { scrapeFailed: () => {}, refused: () => {}, rejected: () => {} },
        snapshot: snapshotInStore(common),
        ids: createComponentIds({ ...common, clock, logger: silentLogger }),
      }),
    };
    process.monitor.configure(
      PIPELINES.map(id =>
        pipelineSchema.parse({ id, engine: 'custom', push: true, token: `token of ${id}` }),
      ),
    );
    await process.monitor.start();
    this.#before = this.#leading;
    this.#leading = process;
    this.#started.push(process);
  }

  /** Nobody may ever have seen another id of it, nor this id of another; and the store has it. */
  async #look({ monitor }: Process): Promise<void> {
    const all = monitor.components.all();
    for (const component of all) {
      const [identity, id] = [keyOf(component), `${component.kind} ${component.id}`];
      expect([identity, id]).toEqual([identity, this.#shown.get(identity) ?? id]);
      expect([id, identity]).toEqual([id, this.#meant.get(id) ?? identity]);
      this.#shown.set(identity, id);
      this.#meant.set(id, identity);
    }
    const recorded = await this.#storage.transaction(tx =>
      tx.in('default').componentsByIds(all.map(({ id }) => id)),
    );
    const ids = new Set(recorded.map(({ kind, id }) => `${kind} ${id}`));
    for (const { kind, id } of all) expect(ids).toContain(`${kind} ${id}`);
  }

  #areShown(some: readonly Name[]): boolean {
    const shown = new Set(this.#leading?.monitor.components.all().map(keyOf));
    return some.every(name => shown.has(keyOfName(name)));
  }

  #expectShown({ monitor }: Process, some: readonly Name[]): void {
    const shown = monitor.components.all().map(keyOf);
    for (const name of some) expect(shown).toContain(keyOfName(name));
  }
}

const keyOf = ({ pipeline, kind, type, engineId }: Component): string =>
  [pipeline, kind, `${type}:${engineId}`].join(' ');
const keyOfName = ({ pipeline, kind, id }: Name): string => [pipeline, kind, `file:${id}`].join(' ');

const silences = (monitor: Monitor | undefined): ReadonlyMap<string, number> =>
  new Map(
    monitor?.components.all().map(component => [keyOf(component), monitor.components.silentMs(component)]),
  );

async function push(monitor: Monitor, some: readonly Name[]): Promise<void> {
  for (const pipeline of PIPELINES) {
    const samples = some
      .filter(name => name.pipeline === pipeline)
      .map(({ kind, id }) => ({
        kind,
        type: 'file',
        id,
        metric: kind === 'input' ? 'in_events' : 'out_events',
        value: 1,
      }));
    if (samples.length > 0) await monitor.ingestSamples(pipeline, { temporality: 'delta', samples });
  }
}

describe.each(dialects)('on $name', dialect => {
  it('processes that take over in any order give no component another id, and forget no silence', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 12 }), async steps => {
        const database = await dialect.create();
        const storage = await database.open(testClock());
        try {
          await new World(storage).run(steps);
        } finally {
          await storage.close();
          await database.remove();
        }
      }),
      { numRuns: 20 },
    );
  }, 240_000);
});
