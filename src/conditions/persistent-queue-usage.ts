import { defineQueueUsage } from './queue-usage.ts';

export const persistentQueueUsage = defineQueueUsage({ id: 'persistent-queue-usage', kind: 'output' });
