import { parentPort, workerData } from 'node:worker_threads';
import { reasonOf } from '../../lib/errors.ts';
import { announceThread } from '../../lib/thread-time.ts';
import { type BacktestJob, performBacktest } from './job.ts';

/** Answers the findings, or why there are none. */
async function run(job: BacktestJob): Promise<void> {
  try {
    parentPort?.postMessage({ findings: await performBacktest(job) });
  } catch (error) {
    parentPort?.postMessage({ reason: reasonOf(error) });
  }
}

const { job, number }: { readonly job: BacktestJob; readonly number: unknown } = workerData;
announceThread(number);
await run(job);
