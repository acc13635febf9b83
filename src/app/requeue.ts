import type { Lanes } from '../delivery/lanes.ts';
import type { Requeued, RequeueFilter, Storage } from '../storage/storage.ts';

/** Deliveries looked at in one transaction, while nothing else is written. */
const SLICE = 500;

interface RequeueAnswer {
  /** Deliveries that wait again. */
  readonly requeued: number;
  /** Those that were left alone, because their target has got later news of the incident since. */
  readonly overtaken: number;
}

/** Puts deliveries back into the queue, a slice at a time. `now` is in epoch ms. */
export type Requeue = (filter: RequeueFilter, now: number) => Promise<RequeueAnswer>;

export function createRequeue(options: {
  readonly workspace: string;
  readonly storage: Pick<Storage, 'transaction'>;
  readonly lanes: Pick<Lanes, 'requeued'>;
}): Requeue {
  const { workspace, storage, lanes } = options;

  const slice = (filter: RequeueFilter, now: number, after: string): Promise<Requeued> =>
    storage.transaction(tx => tx.in(workspace).requeue(filter, { now, after, limit: SLICE }));

  return async (filter, now) => {
    let requeued = 0;
    let overtaken = 0;
    let after: string | undefined = '';
    while (after !== undefined) {
      const done: Requeued = await slice(filter, now, after);
      lanes.requeued(new Set(done.rows.map(row => row.target)));
      requeued += done.rows.length;
      overtaken += done.overtaken;
      after = done.next;
    }
    return { requeued, overtaken };
  };
}
