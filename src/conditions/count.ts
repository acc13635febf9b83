import * as z from 'zod';
import type { ComponentKind } from '../pipelines/component.ts';
import { componentConf } from './component-conf.ts';
import { type ComponentCondition, defineCondition, type Subject } from './condition.ts';
import { lasted } from './wording.ts';

interface Count {
  readonly id: string;
  readonly name: string;
  readonly kind: ComponentKind;
  readonly counter: 'errors' | 'dropped';
  readonly description: string;
  readonly alarm: (subject: Subject, count: number, window: string) => string;
  readonly ok: (subject: Subject, lasted: string) => string;
}

/** More of what should not happen than is borne with, in the window. */
export function defineCount({ id, name, kind, counter, description, alarm, ok }: Count): ComponentCondition {
  return defineCondition({
    id,
    name,
    category: kind === 'input' ? 'sources' : 'destinations',
    kind,
    description,
    schema: z.strictObject({
      ...componentConf(kind, 'The stretch of time that is counted over.'),
      threshold: z.int().min(0).default(0).describe('More than so many are an alarm.'),
    }),
    evaluate({ subject, components, open }, { timeWindow, threshold }) {
      const { component } = subject;
      const seen =
        component !== undefined && components.knows(component, counter)
          ? components.measure(component, counter, timeWindow.ms)
          : undefined;
      if (seen === undefined) return { state: 'unknown', reason: `nothing counts its ${counter}` };
      const count = Math.round(seen.sum);
      const isOver = seen.sum > threshold;
      return {
        state: isOver ? 'alarm' : 'ok',
        describe: () => ({
          fields: { _metric: `total.${counter}`, timeWindow: timeWindow.text, count, threshold },
          text: isOver ? alarm(subject, count, timeWindow.text) : ok(subject, lasted(open)),
        }),
      };
    },
  });
}
