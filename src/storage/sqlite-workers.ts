import { Worker } from 'node:worker_threads';
import { AppError, reasonOf } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import { type Link, linkTo } from './sqlite-link.ts';
import type { Failure } from './sqlite-protocol.ts';

export interface WorkersOptions {
  /** The worker's script. */
  readonly script: URL;
  readonly file: string;
  readonly explain: (failure: Failure) => AppError;
  readonly logger: Logger;
}

export interface Workers {
  readonly writing: Link;
  readonly reading: Link;
  /** Lets both answer what was asked before, then ends them. */
  close(): Promise<void>;
}

/** Starts the two threads that touch the file. When one dies the other is ended: half a storage helps nobody. */
export function startWorkers({ script, file, explain, logger }: WorkersOptions): Workers {
  let dead = false;

  function die(reason: unknown): void {
    if (dead) return;
    dead = true;
    logger.error({ file, reason: reasonOf(reason) }, 'A storage worker has died; restart headgate.');
    void end(
      new AppError('unavailable', `the storage of '${file}' has died; restart headgate`, { cause: reason }),
    );
  }

  const writing = linkTo(new Worker(script), explain, die);
  const reading = linkTo(new Worker(script), explain, die);

  async function end(error: AppError): Promise<void> {
    await Promise.all([writing.end(error), reading.end(error)]);
  }

  return {
    writing,
    reading,
    async close() {
      try {
        if (!dead) await reading.ask({ kind: 'close' });
        if (!dead) await writing.ask({ kind: 'close' });
      } finally {
        await end(new AppError('unavailable', 'the storage is closed'));
      }
    },
  };
}

/** A thread that only reads, beside whoever else has the file. */
export function startReader({ script, explain, file, logger }: WorkersOptions): Omit<Workers, 'writing'> {
  const gone = new AppError('unavailable', `reading '${file}' has ended`);
  const reading = linkTo(new Worker(script), explain, reason => {
    logger.error({ file, reason: reasonOf(reason) }, 'A storage worker has died.');
    void reading.end(gone);
  });
  return {
    reading,
    async close() {
      await reading.ask({ kind: 'close' }).catch(() => {});
      await reading.end(gone);
    },
  };
}
