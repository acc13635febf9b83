import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { Clock } from '../../lib/clock.ts';
import { AppError, codeOf } from '../../lib/errors.ts';
import { createMutex } from '../../lib/mutex.ts';
import { processorTimeOf, threadNumber } from '../../lib/thread-time.ts';
import type { BacktestFindings } from './backtest.ts';
import type { BacktestJob } from './job.ts';

/** The worker is a bundle even in tests, where this file is not. */
const SCRIPT = new URL(
  import.meta.url.endsWith('.ts') ? '../../../dist/backtest-worker.js' : './backtest-worker.js',
  import.meta.url,
);

/** Processor time of one. */
const MAX_CPU_MS = 60_000;
/** Where the system does not say what a thread uses, the time that one may take. */
const MAX_MS = 120_000;
/** Between two looks at how much was used. */
const LOOK_MS = 500;
const MAX_MEMORY_MB = 512;
const RETRY_AFTER_SECONDS = 10;

export type BacktestRequest = Omit<BacktestJob, 'storage' | 'dataFolder'>;

export interface BacktestsOptions extends Pick<BacktestJob, 'storage' | 'dataFolder'> {
  readonly clock: Pick<Clock, 'after' | 'monotonic'>;
}

/** Runs backtests one at a time for the whole process, away from the thread that answers requests. */
export interface Backtests {
  /**
   * Rejects with `unavailable` while one of the same workspace runs or waits, with `invalid-request` for one that takes
   * longer or more memory than one may.
   */
  run(request: BacktestRequest): Promise<BacktestFindings>;
  /** Ends the one that runs. */
  stop(): Promise<void>;
}

export const createBacktests = (options: BacktestsOptions): Backtests => new QueuedBacktests(options);

class QueuedBacktests implements Backtests {
  readonly #options: BacktestsOptions;
  readonly #mutex = createMutex();
  readonly #workspaces = new Set<string>();
  #worker: Worker | undefined;

  constructor(options: BacktestsOptions) {
    this.#options = options;
  }

  async run(request: BacktestRequest): Promise<BacktestFindings> {
    const { workspace } = request;
    if (this.#workspaces.has(workspace))
      throw new AppError('unavailable', 'A backtest of this workspace is running already; try again soon', {
        isForCaller: true,
        retryAfterSeconds: RETRY_AFTER_SECONDS,
      });
    this.#workspaces.add(workspace);
    try {
      return await this.#mutex.run(() => this.#runNow(request));
    } finally {
      this.#workspaces.delete(workspace);
    }
  }

  async stop(): Promise<void> {
    await this.#worker?.terminate();
  }

  async #runNow(request: BacktestRequest): Promise<BacktestFindings> {
    const { clock, storage, dataFolder } = this.#options;
    const job: BacktestJob = { ...request, storage, dataFolder };
    const number = threadNumber();
    const worker = new Worker(SCRIPT, {
      workerData: { job, number },
      resourceLimits: { maxOldGenerationSizeMb: MAX_MEMORY_MB },
    });
    this.#worker = worker;
    const begun = clock.monotonic();
    let isOver = false;
    const look = (): void => {
      const used = processorTimeOf(Atomics.load(number, 0));
      isOver = used === undefined ? clock.monotonic() - begun > MAX_MS : used > MAX_CPU_MS;
      if (isOver) void worker.terminate();
      else cancel = clock.after(LOOK_MS, look);
    };
    let cancel = clock.after(LOOK_MS, look);
    try {
      const ended = once(worker, 'exit').then(([code]) => {
        throw isOver
          ? tooMuch(`${MAX_CPU_MS / 1000} seconds of processor time`)
          : new Error(`the thread that runs a backtest ended with code ${code}`);
      });
      const [answer] = await Promise.race([once(worker, 'message'), ended]);
      if (answer.findings === undefined) throw new Error(`a backtest failed: ${answer.reason}`);
      return answer.findings;
    } catch (error) {
      throw codeOf(error) === 'ERR_WORKER_OUT_OF_MEMORY' ? tooMuch(`${MAX_MEMORY_MB} MB`) : error;
    } finally {
      cancel();
      this.#worker = undefined;
      await worker.terminate();
    }
  }
}

const tooMuch = (what: string): AppError =>
  new AppError(
    'invalid-request',
    `This backtest takes over ${what}; choose a shorter time, or a name that fits fewer inputs and outputs`,
  );
