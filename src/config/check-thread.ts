import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { Cancel, Clock } from '../lib/clock.ts';
import { AppError, codeOf } from '../lib/errors.ts';
import { createMutex } from '../lib/mutex.ts';
import { processorTimeOf, threadNumber } from '../lib/thread-time.ts';
import type { FileTexts, HidingJob } from './configuration.ts';

import type { WorkerJob, WorkerResult } from './worker-job.ts';

/** The worker is a bundle even in tests, where this file is not. */
const SCRIPT = new URL(
  import.meta.url.endsWith('.ts') ? '../../dist/config-worker.js' : './config-worker.js',
  import.meta.url,
);

/** Processor time of one job that somebody sent. */
const MAX_CPU_MS = 5000;
const MAX_MEMORY_MB = 256;
/** Of it what is young: more is taken by what has long been done with. */
const MAX_YOUNG_MB = 8;
/** Between two looks at how much was used. */
const LOOK_MS = 250;
/** How long a thread without a job is kept: to start one costs more than most jobs. */
const IDLE_MS = 60_000;
const RETRY_AFTER_SECONDS = 5;

/** Reads texts that callers send, one at a time for the whole process, away from the thread that answers requests. */
export interface CheckThread {
  /**
   * Runs a job of an owner, after those that wait already. Rejects with `unavailable` while a job of the same owner
   * waits, and with `invalid-request` for a text that takes more processor time or memory than one may.
   */
  readonly run: (owner: string, job: WorkerJob) => Promise<WorkerResult>;
  /** Hides addresses in texts. Runs and rejects as `run` does. */
  readonly hide: (owner: string, job: HidingJob) => Promise<FileTexts[]>;
  /** Runs a job without a bound, away from those above, one of these at a time: for what is stored already. */
  readonly load: (job: WorkerJob) => Promise<WorkerResult>;
  /** Runs a job without a bound that waits for no other: for the operator's own files. */
  readonly loadAtOnce: (job: WorkerJob) => Promise<WorkerResult>;
  /** Ends the threads; a job that somebody sent and that runs is rejected. */
  readonly stop: () => Promise<void>;
}

type Times = Pick<Clock, 'after' | 'monotonic'>;

interface Limits {
  readonly maxCpuMs?: number;
  /** Processor time (ms) of a thread of this process; undefined where the system does not say. */
  readonly timeOf?: (thread: number) => number | undefined;
}

export const createCheckThread = (clock: Times, limits: Limits = {}): CheckThread =>
  new QueuedThread(clock, limits);

interface RunningThread {
  readonly worker: Worker;
  /** Its number in the process. */
  readonly number: Int32Array;
}

/** One job of each owner waits at most, so that the queue is short and nobody's turn is far. */
class QueuedThread implements CheckThread {
  readonly #clock: Times;
  readonly #maxCpuMs: number;
  readonly #timeOf: (thread: number) => number | undefined;
  readonly #loads = createMutex();
  readonly #waiting: { readonly owner: string; readonly begin: () => void }[] = [];
  #isRunning = false;
  #isStopped = false;
  #thread: RunningThread | undefined;
  #cancelEnd: Cancel = () => {};
  /** A thread that loaded, kept for the next load. */
  #spare: Worker | undefined;
  #cancelSpareEnd: Cancel = () => {};

  constructor(clock: Times, { maxCpuMs = MAX_CPU_MS, timeOf = processorTimeOf }: Limits) {
    this.#clock = clock;
    this.#maxCpuMs = maxCpuMs;
    this.#timeOf = timeOf;
  }

  readonly run = (owner: string, job: WorkerJob): Promise<WorkerResult> => this.#queue(owner, job);

  readonly hide = (owner: string, job: HidingJob): Promise<FileTexts[]> => this.#queue(owner, job);

  #queue<Result>(owner: string, job: WorkerJob | HidingJob): Promise<Result> {
    if (this.#waiting.some(one => one.owner === owner))
      return Promise.reject(
        new AppError(
          'unavailable',
          'A configuration of this workspace waits to be checked already; try again soon',
          { isForCaller: true, retryAfterSeconds: RETRY_AFTER_SECONDS },
        ),
      );
    return new Promise((resolve, reject) => {
      const begin = (): void =>
        void this.#runBounded<Result>(job)
          .then(resolve, reject)
          .finally(() => this.#next());
      this.#waiting.push({ owner, begin });
      if (!this.#isRunning) this.#next();
    });
  }

  readonly stop = async (): Promise<void> => {
    this.#isStopped = true;
    await Promise.all([this.#endThread(), this.#endSpare()]);
  };

  async #endThread(): Promise<void> {
    this.#cancelEnd();
    const thread = this.#thread;
    this.#thread = undefined;
    await thread?.worker.terminate();
  }

  readonly load = (job: WorkerJob): Promise<WorkerResult> => this.#loads.run(() => this.loadAtOnce(job));

  readonly loadAtOnce = async (job: WorkerJob): Promise<WorkerResult> => {
    const worker = this.#takeSpare() ?? new Worker(SCRIPT).on('error', () => {});
    // The process may not end before its configuration is loaded.
    worker.ref();
    try {
      const result = await resultOf<WorkerResult>(worker, job);
      this.#keep(worker);
      return result;
    } catch (error) {
      await worker.terminate();
      throw error;
    }
  };

  #keep(worker: Worker): void {
    void this.#endSpare();
    this.#spare = worker;
    if (this.#isStopped) return void this.#endSpare();
    worker.unref();
    this.#cancelSpareEnd = this.#clock.after(IDLE_MS, () => void this.#endSpare());
  }

  #takeSpare(): Worker | undefined {
    this.#cancelSpareEnd();
    const spare = this.#spare;
    this.#spare = undefined;
    return spare;
  }

  async #endSpare(): Promise<void> {
    await this.#takeSpare()?.terminate();
  }

  #next(): void {
    const first = this.#waiting.shift();
    this.#isRunning = first !== undefined;
    if (first === undefined) this.#cancelEnd = this.#clock.after(IDLE_MS, () => void this.#endThread());
    else {
      this.#cancelEnd();
      first.begin();
    }
  }

  async #runBounded<Result>(job: WorkerJob | HidingJob): Promise<Result> {
    const thread = this.#thread ?? startThread();
    this.#thread = thread;
    const { worker } = thread;
    const used = this.#processorTime(thread);
    let isOver = false;
    const look = (): void => {
      isOver = used() > this.#maxCpuMs;
      if (isOver) void worker.terminate();
      else cancel = this.#clock.after(LOOK_MS, look);
    };
    let cancel = this.#clock.after(LOOK_MS, look);
    try {
      return await resultOf(worker, job);
    } catch (error) {
      this.#thread = undefined;
      throw isOver ? tooMuch(`${this.#maxCpuMs / 1000} seconds of processor time`) : refusalOf(error);
    } finally {
      cancel();
    }
  }

  /**
   * Processor time in ms that the thread uses from now on. Where the system does not say what one thread uses, it is that
   * of the process less that of the main thread, and no more than has passed: at most so much it can be.
   */
  #processorTime({ number }: RunningThread): () => number {
    const before = this.#timeOf(Atomics.load(number, 0)) ?? 0;
    const estimated = estimatedTime(this.#clock);
    return () => {
      const now = this.#timeOf(Atomics.load(number, 0));
      return now === undefined ? estimated() : now - before;
    };
  }
}

function startThread(): RunningThread {
  const number = threadNumber();
  const worker = new Worker(SCRIPT, {
    resourceLimits: { maxOldGenerationSizeMb: MAX_MEMORY_MB, maxYoungGenerationSizeMb: MAX_YOUNG_MB },
    workerData: number,
  });
  // The process may end while a text is checked: nobody is left to answer.
  worker.unref();
  // Whoever waits for a job hears of its error; without a job there is nobody to hear, and nothing to do.
  worker.on('error', () => {});
  return { worker, number };
}

const tooMuch = (what: string): AppError =>
  new AppError('invalid-request', `Checking this text takes over ${what}; send a smaller one`);

const refusalOf = (error: unknown): unknown =>
  codeOf(error) === 'ERR_WORKER_OUT_OF_MEMORY' ? tooMuch(`${MAX_MEMORY_MB} MB`) : error;

function estimatedTime(clock: Pick<Clock, 'monotonic'>): () => number {
  const begun = clock.monotonic();
  const before = process.cpuUsage();
  const loop = performance.eventLoopUtilization();
  return () => {
    const { user, system } = process.cpuUsage(before);
    const others = (user + system) / 1000 - performance.eventLoopUtilization(loop).active;
    return Math.min(clock.monotonic() - begun, others);
  };
}

/** Rejects with the error that ends the thread, or when it ends without one. */
async function resultOf<Result>(worker: Worker, job: WorkerJob | HidingJob): Promise<Result> {
  const listening = new AbortController();
  const { signal } = listening;
  const ended = once(worker, 'exit', { signal }).then(([code]) => {
    throw new Error(`the thread that reads the configuration ended with code ${code}`);
  });
  worker.postMessage(job);
  try {
    const [result] = await Promise.race([once(worker, 'message', { signal }), ended]);
    return result;
  } finally {
    listening.abort();
  }
}
