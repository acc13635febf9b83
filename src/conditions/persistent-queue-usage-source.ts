import { defineQueueUsage } from './queue-usage.ts';

export const persistentQueueUsageSource = defineQueueUsage({
  id: 'persistent-queue-usage-source',
  kind: 'input',
});
