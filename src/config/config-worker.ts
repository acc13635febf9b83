import { parentPort } from 'node:worker_threads';
import { performJob, type WorkerJob, withoutValues } from './worker-job.ts';

parentPort?.on('message', (job: WorkerJob) => parentPort?.postMessage(withoutValues(performJob(job))));
