import { Worker } from 'node:worker_threads';
import type { Clock } from '../lib/clock.ts';
import { AppError, codeOf } from '../lib/errors.ts';
import type { WorkerJob, WorkerResult } from './worker-job.ts';

/** The worker is a bundle even in tests, where this file is not. */
const SCRIPT = new URL(
  import.meta.url.endsWith('.ts') ? '../../dist/config-worker.js' : './config-worker.js',
  import.meta.url,
);

/** Processor time of one job that somebody sent. */
const MAX_CPU_MS = 5000;
const MAX_MEMORY_MB = 512;
/** Between two looks at how much was used. */
const LOOK_MS = 250;
const RETRY_AFTER_SECONDS = 5;

/** Reads texts that callers send, one at a time for the whole process, away from the thread that answers requests. */
export interface CheckThread {
  /**
   * Runs a job of an owner, after those that wait already. Rejects with `unavailable` while a job of the same owner
   * waits, and with `invalid-request` for a text that takes more processor time or memory than one may.
   */
  readonly run: (owner: string, job: WorkerJob) => Promise<WorkerResult>;
}

/** One job of each owner waits at most, so that the queue is short and nobody's turn is far. */
export function createCheckThread(
  clock: Pick<Clock, 'after' | 'monotonic'>,
  maxCpuMs = MAX_CPU_MS,
): CheckThread {
  const waiting: { readonly owner: string; readonly begin: () => void }[] = [];
  let isRunning = false;

  function next(): void {
    const first = waiting.shift();
    isRunning = first !== undefined;
    first?.begin();
  }

  return {
    run(owner, job) {
      if (waiting.some(one => one.owner === owner))
        return Promise.reject(
          new AppError(
            'unavailable',
            'A configuration of this workspace waits to be checked already; try again soon',
            {
              retryAfterSeconds: RETRY_AFTER_SECONDS,
            },
          ),
        );
      return new Promise((resolve, reject) => {
        waiting.push({
          owner,
          begin: () => void runBounded(job, { clock, maxCpuMs }).then(resolve, reject).finally(next),
        });
        if (!isRunning) next();
      });
    },
  };
}

/** Runs a job in a thread that ends with it, without a bound: for the operator's own files. */
export const runInThread = (job: WorkerJob): Promise<WorkerResult> =>
  resultOf(new Worker(SCRIPT, { workerData: job }));

interface Bounds {
  readonly clock: Pick<Clock, 'after' | 'monotonic'>;
  readonly maxCpuMs: number;
}

async function runBounded(job: WorkerJob, { clock, maxCpuMs }: Bounds): Promise<WorkerResult> {
  const worker = new Worker(SCRIPT, {
    workerData: job,
    resourceLimits: { maxOldGenerationSizeMb: MAX_MEMORY_MB },
  });
  // The process may end while a text is checked: nobody is left to answer.
  worker.unref();
  const used = processorTime(clock);
  let isOver = false;
  const look = (): void => {
    isOver = used() > maxCpuMs;
    if (isOver) void worker.terminate();
    else cancel = clock.after(LOOK_MS, look);
  };
  let cancel = clock.after(LOOK_MS, look);
  try {
    return await resultOf(worker);
  } catch (error) {
    if (isOver)
      throw new AppError(
        'invalid-request',
        `Checking this text takes over ${maxCpuMs / 1000} seconds of processor time; send a smaller one`,
      );
    if (codeOf(error) === 'ERR_WORKER_OUT_OF_MEMORY')
      throw new AppError(
        'invalid-request',
        `Checking this text takes over ${MAX_MEMORY_MB} MB; send a smaller one`,
      );
    throw error;
  } finally {
    cancel();
  }
}

/**
 * Processor time in ms that a thread begun now can have used at most: Node 20 does not measure one thread, so it is that
 * of the process less that of the main thread, and no more than has passed. A busy machine does not make it longer.
 */
function processorTime(clock: Pick<Clock, 'monotonic'>): () => number {
  const begun = clock.monotonic();
  const before = process.cpuUsage();
  const loop = performance.eventLoopUtilization();
  return () => {
    const { user, system } = process.cpuUsage(before);
    const others = (user + system) / 1000 - performance.eventLoopUtilization(loop).active;
    return Math.min(clock.monotonic() - begun, others);
  };
}

function resultOf(worker: Worker): Promise<WorkerResult> {
  return new Promise((resolve, reject) => {
    worker.once('message', (result: WorkerResult) => resolve(result));
    worker.once('error', reject);
    worker.once('exit', code =>
      reject(new Error(`the thread that reads the configuration ended with code ${code}`)),
    );
  });
}
