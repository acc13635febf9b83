import { parentPort, workerData } from 'node:worker_threads';
import { announceThread } from '../lib/thread-time.ts';
import type { HidingJob } from './configuration.ts';
import { hideAddressesInTexts } from './secrets/addresses.ts';

import { performJob, type WorkerJob, withoutValues } from './worker-job.ts';

announceThread(workerData);
parentPort?.on('message', (job: WorkerJob | HidingJob) =>
  parentPort?.postMessage('sources' in job ? withoutValues(performJob(job)) : hideAddressesInTexts(job)),
);
