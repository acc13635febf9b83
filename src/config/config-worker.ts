import { parentPort, workerData } from 'node:worker_threads';
import { performJob, type WorkerJob, withoutValues } from './worker-job.ts';

/** One piece of work, and the end: what it took of memory goes with the thread. */
function run(data: WorkerJob): void {
  parentPort?.postMessage(withoutValues(performJob(data)));
}

run(workerData);
