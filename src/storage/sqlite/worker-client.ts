import { Worker } from 'node:worker_threads';
import { AppError, reasonOf } from '../../lib/errors.ts';
import type { Logger } from '../../lib/logger.ts';
import type { RequestEnvelope, WorkerFailure, WorkerRequest, WorkerResponse } from './protocol.ts';

const MAX_PENDING = 20_000;

interface PendingCall {
  readonly resolve: (answer: WorkerResponse) => void;
  readonly reject: (error: AppError) => void;
}

/** The main thread's end of a worker. */
export interface WorkerClient {
  /** Rejects with what `explain` makes of a failure, or `unavailable` when the worker is gone. */
  call(request: WorkerRequest): Promise<WorkerResponse>;
  /** Ends the worker; everything pending and later rejects with `error`. */
  end(error: AppError): Promise<void>;
}

/** `onDeath` is called once when the worker ends by itself. */
function connectWorker(
  worker: Worker,
  explain: (failure: WorkerFailure) => AppError,
  onDeath: (reason: unknown) => void,
): WorkerClient {
  const pending = new Map<number, PendingCall>();
  let lastId = 0;
  let ended: AppError | undefined;

  function onExit(reason: unknown): void {
    if (ended === undefined) onDeath(reason);
  }

  worker.on('message', (answer: WorkerResponse) => {
    const call = pending.get(answer.id);
    pending.delete(answer.id);
    if (answer.failure === null) call?.resolve(answer);
    else call?.reject(explain(answer.failure));
  });
  worker.on('error', onExit);
  worker.on('exit', code => onExit(new Error(`the worker ended with code ${code}`)));

  return {
    call(request) {
      if (ended !== undefined) return Promise.reject(ended);
      if (pending.size >= MAX_PENDING) {
        const busy = new AppError('unavailable', `${pending.size} calls wait for the database already`, {
          retryAfterSeconds: 5,
        });
        return Promise.reject(busy);
      }
      lastId += 1;
      const envelope: RequestEnvelope = { id: lastId, request };
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

export interface WorkersOptions {
  /** The worker's script. */
  readonly script: URL;
  readonly file: string;
  readonly explain: (failure: WorkerFailure) => AppError;
  readonly logger: Logger;
}

export interface Workers {
  readonly writerClient: WorkerClient;
  readonly readerClient: WorkerClient;
  /** Lets both answer the calls that were made before, then ends them. */
  close(): Promise<void>;
}

/** Starts the two threads that touch the file. When one dies the other is ended: half a storage helps nobody. */
export function startWorkers({ script, file, explain, logger }: WorkersOptions): Workers {
  let dead = false;

  function onDeath(reason: unknown): void {
    if (dead) return;
    dead = true;
    logger.error({ file, reason: reasonOf(reason) }, 'A storage worker has died; restart headgate.');
    void end(
      new AppError('unavailable', `the storage of '${file}' has died; restart headgate`, { cause: reason }),
    );
  }

  const writerClient = connectWorker(new Worker(script), explain, onDeath);
  const readerClient = connectWorker(new Worker(script), explain, onDeath);

  async function end(error: AppError): Promise<void> {
    await Promise.all([writerClient.end(error), readerClient.end(error)]);
  }

  return {
    writerClient,
    readerClient,
    async close() {
      try {
        if (!dead) await readerClient.call({ kind: 'close' });
        if (!dead) await writerClient.call({ kind: 'close' });
      } finally {
        await end(new AppError('unavailable', 'the storage is closed'));
      }
    },
  };
}

/**
 * Touches the file in the thread that calls, which its calls block: where a thread does nothing else meanwhile, handing
 * each to another costs more than the call.
 */
export async function connectInThread({ explain }: Pick<WorkersOptions, 'explain'>): Promise<Workers> {
  // Loaded only where it is used: others need not load the database into their thread.
  const { createRequestHandler } = await import('./connection.ts');
  const connect = (): WorkerClient => {
    const answer = createRequestHandler();
    let ended: AppError | undefined;
    return {
      async call(request) {
        if (ended !== undefined) throw ended;
        const response = answer({ id: 0, request });
        if (response.failure !== null) throw explain(response.failure);
        return response;
      },
      async end(error) {
        ended ??= error;
      },
    };
  };
  const [writerClient, readerClient] = [connect(), connect()];
  return {
    writerClient,
    readerClient,
    async close() {
      for (const client of [readerClient, writerClient]) {
        await client.call({ kind: 'close' });
        await client.end(new AppError('unavailable', 'the storage is closed'));
      }
    },
  };
}

/** A thread that only reads, beside other users of the file. */
export function startReader({
  script,
  explain,
  file,
  logger,
}: WorkersOptions): Omit<Workers, 'writerClient'> {
  const gone = new AppError('unavailable', `reading '${file}' has ended`);
  const readerClient = connectWorker(new Worker(script), explain, reason => {
    logger.error({ file, reason: reasonOf(reason) }, 'A storage worker has died.');
    void readerClient.end(gone);
  });
  return {
    readerClient,
    async close() {
      await readerClient.call({ kind: 'close' }).catch(() => {});
      await readerClient.end(gone);
    },
  };
}
