import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '../lib/clock.ts';
import { performJob, type WorkerJob } from './worker-job.ts';

/** One piece of work, and the end: what it took of memory goes with the thread. */
function run(data: WorkerJob): void {
  parentPort?.postMessage(performJob(data, systemClock));
}

run(workerData);
