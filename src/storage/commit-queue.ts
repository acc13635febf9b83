import { AppError } from '../lib/errors.ts';
import type { Mutex } from '../lib/mutex.ts';
import { plan, type StorageOperation } from './operations/operation.ts';
import type { Plan } from './operations/plan.ts';
import type { Lease } from './stores/leases.ts';
import { type CommittedChange, coalesceChanges } from './types.ts';

const MAX_WAITING = 50_000;
const MAX_BATCH = 500;
/** The texts of one batch, in UTF-16 units: what is copied to the writer at a time. */
const MAX_BATCH_LENGTH = 4 * 2 ** 20;
/** The texts of everything that waits: the memory a stalled disk may cost. */
const MAX_WAITING_LENGTH = 128 * 2 ** 20;

interface QueuedCommit {
  readonly plan: Plan;
  readonly length: number;
  readonly settle: (refusal: AppError | null) => void;
}

export interface CommitQueue {
  commit(operation: StorageOperation, lease?: Lease): Promise<void>;
  /** Resolves when everything accepted so far is on disk or refused. */
  drained(): Promise<void>;
}

function lengthOf(planned: Plan): number {
  let length = 0;
  for (const step of planned.steps) {
    for (const value of step.parameters) if (typeof value === 'string') length += value.length;
  }
  return length;
}

/**
 * Writes operations in batches without ever waiting for more of them: what comes while a batch is written is the next
 * batch. Each batch takes the writer's mutex anew, so administration never waits for more than one. What was written is
 * published, once for each batch.
 */
export function createCommitQueue(
  mutex: Mutex,
  run: (plans: readonly Plan[]) => Promise<readonly (AppError | null)[]>,
  publish: (change: CommittedChange) => void,
): CommitQueue {
  const waiting: QueuedCommit[] = [];
  let waitingLength = 0;
  let draining: Promise<void> | undefined;

  function takeBatch(): QueuedCommit[] {
    let count = 0;
    let length = 0;
    for (const item of waiting) {
      if (count === MAX_BATCH || (count > 0 && length + item.length > MAX_BATCH_LENGTH)) break;
      count += 1;
      length += item.length;
    }
    waitingLength -= length;
    return waiting.splice(0, count);
  }

  async function writeBatch(): Promise<void> {
    const batch = takeBatch();
    try {
      const refusals = await run(batch.map(item => item.plan));
      const written: CommittedChange[] = [];
      batch.forEach(({ plan, settle }, index) => {
        const refusal = refusals[index] ?? null;
        if (refusal === null) written.push(...plan.changes);
        settle(refusal);
      });
      coalesceChanges(written).forEach(publish);
    } catch (error) {
      const refusal =
        error instanceof AppError ? error : new AppError('internal', 'the batch failed', { cause: error });
      for (const item of batch) item.settle(refusal);
    }
  }

  async function drain(): Promise<void> {
    while (waiting.length > 0) await mutex.run(writeBatch);
    draining = undefined;
  }

  return {
    async commit(operation, lease) {
      const planned = plan(operation, lease);
      const length = lengthOf(planned);
      if (waiting.length >= MAX_WAITING || waitingLength + length > MAX_WAITING_LENGTH) {
        throw new AppError(
          'unavailable',
          `${waiting.length} writes wait for the disk already; check that it is well`,
          {
            retryAfterSeconds: 5,
          },
        );
      }
      waitingLength += length;
      const refusal = await new Promise<AppError | null>(settle => {
        waiting.push({ plan: planned, length, settle });
        draining ??= drain();
      });
      if (refusal !== null) throw refusal;
    },
    async drained() {
      while (draining !== undefined) await draining;
    },
  };
}
