import { parentPort, workerData } from 'node:worker_threads';
import { announceThread } from './thread-time.ts';
import { performJob, type WorkerJob, withoutValues } from './worker-job.ts';

announceThread(workerData);
parentPort?.on('message', (job: WorkerJob) => parentPort?.postMessage(withoutValues(performJob(job))));
