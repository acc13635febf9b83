import type { Storage } from '../storage/storage.ts';
import type { RequeueFilter, RequeueResult } from '../storage/stores/deliveries.ts';
import type { Dispatcher } from './dispatcher.ts';

/** Deliveries that are requeued in one transaction: nothing else is written meanwhile. */
const SLICE = 500;

/** As the API answers it. */
interface RetryAnswer {
  /** Deliveries that wait again. */
  readonly requeued: number;
  /** Those that were left alone, because their target has got a later event of the incident since. */
  readonly overtaken: number;
}

/** Requeues deliveries, a slice at a time. `now` is in epoch ms. */
export type Retry = (filter: RequeueFilter, now: number) => Promise<RetryAnswer>;

export function createRetry(options: {
  readonly workspace: string;
  readonly storage: Pick<Storage, 'transaction'>;
  readonly dispatcher: Pick<Dispatcher, 'reload'>;
}): Retry {
  const { workspace, storage, dispatcher } = options;
  return async (filter, now) => {
    let requeued = 0;
    let overtaken = 0;
    let after: string | undefined = '';
    while (after !== undefined) {
      const from: string = after;
      const done: RequeueResult = await storage.transaction(tx =>
        tx.in(workspace).requeue(filter, { now, after: from, limit: SLICE }),
      );
      dispatcher.reload(new Set(done.rows.map(row => row.target)));
      requeued += done.rows.length;
      overtaken += done.superseded;
      after = done.next;
    }
    return { requeued, overtaken };
  };
}
