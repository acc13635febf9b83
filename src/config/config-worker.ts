import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '../lib/clock.ts';
import { perform, type Work } from './work.ts';

/** One piece of work, and the end: what it took of memory goes with the thread. */
function work(data: Work): void {
  parentPort?.postMessage(perform(data, systemClock));
}

work(workerData);
