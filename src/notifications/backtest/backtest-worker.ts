import { parentPort, Worker, workerData } from 'node:worker_threads';
import { reasonOf } from '../../lib/errors.ts';
import { announceThread } from '../../lib/thread-time.ts';
import { serveHistory } from './history-reading.ts';
import { type BacktestJob, performBacktest } from './job.ts';

/** Of the thread of a backtest, and of the one in which that has its minutes read. */
interface WorkerData {
  readonly job: BacktestJob;
  readonly number: unknown;
  readonly isReading?: boolean;
}

/** Answers the findings, or why there are none. */
async function run(job: BacktestJob): Promise<void> {
  const startReading = (): Worker =>
    new Worker(new URL(import.meta.url), { workerData: { job, number: undefined, isReading: true } });
  try {
    parentPort?.postMessage({ findings: await performBacktest(job, startReading) });
  } catch (error) {
    parentPort?.postMessage({ reason: reasonOf(error) });
  }
}

const { job, number, isReading = false }: WorkerData = workerData;
announceThread(number);
if (!isReading) await run(job);
else if (parentPort !== null) await serveHistory(job, parentPort);
