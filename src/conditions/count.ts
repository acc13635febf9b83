import * as z from 'zod';
import { componentConf, eitherConf } from './component-conf.ts';
import {
  type ComponentCondition,
  type ComponentConf,
  type ComponentKinds,
  defineCondition,
  type Subject,
} from './condition.ts';
import { lasted } from './wording.ts';

const CATEGORIES = { input: 'sources', output: 'destinations', either: 'components' } as const;

interface Count {
  readonly id: string;
  readonly name: string;
  readonly kind: ComponentKinds;
  readonly counter: 'errors' | 'dropped';
  readonly description: string;
  readonly alarm: (subject: Subject, count: number, window: string) => string;
  readonly ok: (subject: Subject, lasted: string) => string;
}

interface CountConf extends ComponentConf {
  readonly threshold: number;
}

/** More of what should not happen than is borne with, in the window. */
export function defineCount({ id, name, kind, counter, description, alarm, ok }: Count): ComponentCondition {
  return defineCondition({
    id,
    name,
    category: CATEGORIES[kind],
    kind,
    description,
    schema: schemaOf(kind),
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

function schemaOf(kind: ComponentKinds): z.ZodType<CountConf> {
  const schema = z.strictObject({
    ...componentConf(kind, 'The stretch of time that is counted over.'),
    threshold: z.int().min(0).default(0).describe('More than so many are an alarm.'),
  });
  return kind === 'either' ? schema.extend(eitherConf) : schema;
}
