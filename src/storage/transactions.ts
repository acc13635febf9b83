import type { Clock } from '../lib/clock.ts';
import { AppError } from '../lib/errors.ts';
import type { Mutex } from '../lib/mutex.ts';
import type { Backend } from './backend.ts';
import { createTransaction, type Storage, type Transaction } from './storage.ts';
import { assertHeld, type Lease } from './stores/leases.ts';
import { type CommittedChange, coalesceChanges } from './types.ts';

/** All commits wait while a transaction is open, so one that hangs is ended. */
const MAX_OPEN_MS = 30_000;
const MAX_WAITING = 1_000;

/** Settles as `work` does, or rejects when that takes too long. */
function withTimeout<Result>(clock: Clock, work: Promise<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(MAX_OPEN_MS, () =>
      reject(
        new AppError(
          'unavailable',
          `a change took longer than ${MAX_OPEN_MS / 1000} s and was rolled back; try again`,
          {
            isForCaller: true,
            retryAfterSeconds: 5,
          },
        ),
      ),
    );
    work.then(resolve, reject).finally(cancel);
  });
}

/**
 * Runs administration on the writer, one transaction at a time and never amid a batch. Work must not wait for a commit
 * or another transaction: both wait for its own end. What it has written is seen by others once it has ended, and
 * published then.
 */
export function runTransactions(
  mutex: Mutex,
  { writer, leaseClock, notify }: Pick<Backend, 'writer' | 'leaseClock' | 'notify'>,
  { clock, publish }: { readonly clock: Clock; readonly publish: (change: CommittedChange) => void },
): Storage['transaction'] {
  let waiting = 0;

  async function run<Result>(work: (tx: Transaction) => Promise<Result>, lease?: Lease): Promise<Result> {
    const recorded: CommittedChange[] = [];
    // Kysely refuses every query on it once it is rolled back, so work that hangs cannot write later.
    const open = await writer.startTransaction().execute();
    try {
      if (lease !== undefined) await assertHeld(open, leaseClock, lease);
      const result = await withTimeout(clock, work(createTransaction(open, change => recorded.push(change))));
      const changes = coalesceChanges(recorded);
      await notify(open, changes);
      await open.commit().execute();
      changes.forEach(publish);
      return result;
    } catch (error) {
      await open.rollback().execute();
      throw error;
    }
  }

  return async (work, lease) => {
    if (waiting >= MAX_WAITING) {
      throw new AppError('unavailable', `${waiting} changes wait for the database already; try again`, {
        isForCaller: true,
        retryAfterSeconds: 5,
      });
    }
    waiting += 1;
    try {
      return await mutex.run(() => run(work, lease));
    } finally {
      waiting -= 1;
    }
  };
}
