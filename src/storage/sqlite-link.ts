import type { Worker } from 'node:worker_threads';
import { AppError } from '../lib/errors.ts';
import type { Answer, Envelope, Failure, Request } from './sqlite-protocol.ts';

const MAX_PENDING = 20_000;

interface Pending {
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: AppError) => void;
}

/** The main thread's end of a worker. */
export interface Link {
  /** Rejects with what `explain` makes of a failure, or `unavailable` when the worker is gone. */
  ask(request: Request): Promise<Answer>;
  /** Ends the worker; everything pending and later rejects with `error`. */
  end(error: AppError): Promise<void>;
}

/** `onDeath` is called once when the worker ends without having been told to. */
export function linkTo(
  worker: Worker,
  explain: (failure: Failure) => AppError,
  onDeath: (reason: unknown) => void,
): Link {
  const pending = new Map<number, Pending>();
  let lastId = 0;
  let ended: AppError | undefined;

  function died(reason: unknown): void {
    if (ended === undefined) onDeath(reason);
  }

  worker.on('message', (answer: Answer) => {
    const call = pending.get(answer.id);
    pending.delete(answer.id);
    if (answer.failure === null) call?.resolve(answer);
    else call?.reject(explain(answer.failure));
  });
  worker.on('error', died);
  worker.on('exit', code => died(new Error(`the worker ended with code ${code}`)));

  return {
    ask(request) {
      if (ended !== undefined) return Promise.reject(ended);
      if (pending.size >= MAX_PENDING) {
        const busy = new AppError('unavailable', `${pending.size} calls wait for the database already`, {
          retryAfterSeconds: 5,
        });
        return Promise.reject(busy);
      }
      lastId += 1;
      const envelope: Envelope = { id: lastId, request };
      return new Promise((resolve, reject) => {
        worker.postMessage(envelope);
        pending.set(envelope.id, { resolve, reject });
      });
    },
    async end(error) {
      ended ??= error;
      for (const call of pending.values()) call.reject(error);
      pending.clear();
      await worker.terminate();
    },
  };
}
