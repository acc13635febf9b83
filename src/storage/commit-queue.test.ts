import { describe, expect, it } from 'vitest';
import { AppError } from '../lib/errors.ts';
import { createMutex } from '../lib/mutex.ts';
import { type CommitQueue, createCommitQueue } from './commit-queue.ts';
import type { StorageOperation } from './operations/operation.ts';
import type { Plan } from './operations/plan.ts';
import type { CommittedChange } from './types.ts';

/** A disk that writes each batch when the test lets it. */
interface Disk {
  readonly commits: CommitQueue;
  readonly batches: Plan[][];
  /** The changes that were published. */
  readonly facts: CommittedChange[];
  finish(outcome?: Error): Promise<void>;
}

/** The disk refuses what is called so. */
const refusalOf = ({ steps }: Plan): AppError | null =>
  steps[0]?.parameters.includes('bad') ? new AppError('conflict', 'no') : null;

function slowDisk(): Disk {
  const batches: Plan[][] = [];
  let finishBatch: (outcome?: Error) => void = () => {};
  const facts: CommittedChange[] = [];
  const commits = createCommitQueue(
    createMutex(),
    plans => {
      batches.push([...plans]);
      return new Promise((resolve, reject) => {
        finishBatch = error => (error === undefined ? resolve(plans.map(refusalOf)) : reject(error));
      });
    },
    fact => facts.push(fact),
  );
  return {
    commits,
    batches,
    facts,
    async finish(outcome) {
      finishBatch(outcome);
      await new Promise(setImmediate);
    },
  };
}

function settlement(lastError: string | null = null, deliveryId = 'd'): StorageOperation {
  return {
    kind: 'settle',
    workspace: 'default',
    deliveryId,
    state: 'sent',
    attempts: 1,
    unknownAttempts: 0,
    fault: null,
    nextAt: null,
    lastStatus: 200,
    lastError,
    settledAt: 1,
    retriedAt: null,
    attempt: null,
    batch: null,
    fallbackDeliveries: [],
  };
}

const many = (count: number): StorageOperation[] => Array.from({ length: count }, () => settlement());

describe('group commit', () => {
  it('writes at once, and what comes meanwhile as the next batch', async () => {
    const { commits, batches, finish } = slowDisk();
    const first = commits.commit(settlement());
    await new Promise(setImmediate);
    const rest = many(3).map(one => commits.commit(one));
    await new Promise(setImmediate);
    expect(batches.map(batch => batch.length)).toEqual([1]);

    await finish();
    await first;
    expect(batches.map(batch => batch.length)).toEqual([1, 3]);
    await finish();
    await Promise.all(rest);
  });

  it('limits a batch in operations and in the length of their texts', async () => {
    const { commits, batches, finish } = slowDisk();
    const long = 'x'.repeat(3 * 2 ** 20);
    const all = [...many(501), settlement(long), settlement(long), settlement()].map(one =>
      commits.commit(one),
    );
    await new Promise(setImmediate);
    for (let batch = 0; batch < 3; batch++) await finish();
    await Promise.all(all);
    expect(batches.map(batch => batch.length)).toEqual([500, 2, 2]);
  });

  it.each([
    ['operations', Array.from({ length: 50_000 }, () => settlement())],
    ['text', Array.from({ length: 16 }, () => settlement('x'.repeat(8 * 2 ** 20 - 20)))],
  ])('refuses more when too much %s waits, and goes on once it is written', async (_what, flood) => {
    const { commits, finish } = slowDisk();
    const accepted = flood.map(one => commits.commit(one));
    const refused = commits.commit(settlement('y'.repeat(1000)));
    await expect(refused).rejects.toMatchObject({ code: 'unavailable', retryAfterSeconds: 5 });

    await finish();
    const later = commits.commit(settlement());
    let open = true;
    const finishing = (async () => {
      while (open) await finish();
    })();
    await Promise.all([...accepted, later]);
    await commits.drained();
    open = false;
    await finishing;
  });

  it('refuses the whole batch when the writer is gone', async () => {
    const { commits, finish } = slowDisk();
    const all = Promise.allSettled(many(2).map(one => commits.commit(one)));
    await new Promise(setImmediate);
    await finish(new AppError('unavailable', 'gone'));
    for (const outcome of await all) expect(outcome).toMatchObject({ reason: { code: 'unavailable' } });
  });

  it('publishes what was written once for each batch, and nothing of what was refused', async () => {
    const { commits, facts, finish } = slowDisk();
    const fact = (id: string): CommittedChange => ({ workspace: 'default', resource: 'deliveries', id });
    const first = commits.commit(settlement(null, 'a'));
    await new Promise(setImmediate);
    const rest = ['b', 'bad', 'b', 'c'].map(id => commits.commit(settlement(null, id)));
    const outcomes = Promise.allSettled(rest);
    expect(facts).toEqual([]);
    await finish();
    await first;
    expect(facts).toEqual([fact('a')]);
    await finish();
    await outcomes;
    expect(facts.slice(1)).toEqual([fact('b'), fact('c')]);
  });
});
