import * as z from 'zod';
import type { ComponentKind } from '../pipelines/metric.ts';
import {
  type ComponentCondition,
  componentConf,
  defineComponentCondition,
  openDuration,
  type Subject,
  subjectName,
} from './condition.ts';

interface QueueUsageOptions {
  readonly id: string;
  readonly kind: ComponentKind;
  readonly example: ComponentCondition['example'];
}

/** Alarms when the queue of the fullest replica is fuller than the threshold, strictly. */
function defineQueueUsage({ id, kind, example }: QueueUsageOptions): ComponentCondition {
  return defineComponentCondition({
    id,
    name: 'Persistent Queue Usage',
    category: kind === 'input' ? 'sources' : 'destinations',
    kind,
    description: `The queue of an ${kind} is fuller than usageThreshold.`,
    sample: { _metric: 'system.pq_used', usage: 95, usageThreshold: 90 },
    example,
    schema: z.strictObject({
      ...componentConf(kind, 'With notifyOnResolution false: how often it notifies while it lasts.'),
      usageThreshold: z.int().min(0).max(99).default(90).describe('Per cent of the capacity.'),
    }),
    evaluate({ subject, components, open }, { timeWindow, usageThreshold }) {
      const usage = subject.component && components.queueUsage(subject.component);
      if (usage === undefined) return { state: 'unknown', reason: NO_CAPACITY };
      const isOver = usage > usageThreshold;
      return {
        state: isOver ? 'alarm' : 'ok',
        describe: () => ({
          fields: {
            _metric: 'system.pq_used',
            timeWindow: timeWindow.text,
            usageThreshold,
            usage: Math.floor(usage),
          },
          text: isOver
            ? surpassed(subject, usageThreshold)
            : `${usageOf(subject)} is below ${usageThreshold}% again after ${openDuration(open)}`,
        }),
      };
    },
    explain({ subject, components }, { timeWindow, usageThreshold }) {
      const value = subject.component && components.queueUsage(subject.component);
      return {
        facts: [
          {
            ...{ name: 'usage of the fullest queue', value, unit: 'per cent' },
            alarm: { when: 'more than', limit: usageThreshold },
            unknown: value === undefined ? NO_CAPACITY : undefined,
          },
        ],
        alarmInMs: 0,
        provided: `its queue is fuller than ${usageThreshold}%`,
        alarm: () => ({
          fields: {
            _metric: 'system.pq_used',
            timeWindow: timeWindow.text,
            usageThreshold,
            usage: usageThreshold + 1,
          },
          text: surpassed(subject, usageThreshold),
        }),
      };
    },
  });
}

const NO_CAPACITY = 'no queue with a known capacity';

const usageOf = (subject: Subject): string => `Persistent Queue usage of ${subjectName(subject)}`;
const surpassed = (subject: Subject, threshold: number): string =>
  `${usageOf(subject)} has surpassed ${threshold}%`;

export const persistentQueueUsageSource = defineQueueUsage({
  id: 'persistent-queue-usage-source',
  kind: 'input',
  example: { id: 'source_queue', conf: { name: '*', usageThreshold: 80 } },
});

export const persistentQueueUsage = defineQueueUsage({
  id: 'persistent-queue-usage',
  kind: 'output',
  example: { id: 'dest_queue', conf: { name: '*', usageThreshold: 80 } },
});
