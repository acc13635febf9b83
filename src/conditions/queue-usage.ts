import * as z from 'zod';
import type { ComponentKind } from '../pipelines/component.ts';
import { componentConf } from './component-conf.ts';
import { type ComponentCondition, defineCondition } from './condition.ts';
import { lasted, nameOf } from './wording.ts';

interface QueueUsage {
  readonly id: string;
  readonly kind: ComponentKind;
}

/** A queue fuller than it should be, of the fullest replica, strictly. */
export function defineQueueUsage({ id, kind }: QueueUsage): ComponentCondition {
  return defineCondition({
    id,
    name: 'Persistent Queue Usage',
    category: kind === 'input' ? 'sources' : 'destinations',
    kind,
    description: `The queue of an ${kind} is fuller than usageThreshold.`,
    schema: z.strictObject({
      ...componentConf(kind, 'With notifyOnResolution false: how often it is told while it lasts.'),
      usageThreshold: z.int().min(0).max(99).default(90).describe('Per cent of the capacity.'),
    }),
    evaluate({ subject, components, open }, { timeWindow, usageThreshold }) {
      const usage = subject.component && components.queueUsage(subject.component);
      if (usage === undefined) return { state: 'unknown', reason: 'no queue with a known capacity' };
      const isOver = usage > usageThreshold;
      const about = `Persistent Queue usage of ${nameOf(subject)}`;
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
            ? `${about} has surpassed ${usageThreshold}%`
            : `${about} is below ${usageThreshold}% again after ${lasted(open)}`,
        }),
      };
    },
  });
}
