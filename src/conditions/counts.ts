import * as z from 'zod';
import type { Measurement } from '../pipelines/components/component.ts';
import {
  type ComponentCondition,
  type ComponentConf,
  type ComponentEvaluation,
  type ComponentKinds,
  componentConf,
  defineComponentCondition,
  eitherConf,
  openDuration,
  type Subject,
  subjectName,
  subjectTitle,
  sumFact,
} from './condition.ts';

const CATEGORIES = { input: 'sources', output: 'destinations', either: 'components' } as const;

interface CountOptions {
  readonly id: string;
  readonly name: string;
  readonly kind: ComponentKinds;
  readonly counter: 'errors' | 'dropped';
  readonly description: string;
  readonly alarm: (subject: Subject, count: number, window: string) => string;
  readonly ok: (subject: Subject, lasted: string) => string;
  readonly example: ComponentCondition['example'];
}

interface CountConf extends ComponentConf {
  readonly threshold: number;
}

/** Defines an alarm on a count of the window, of errors or of dropped events, above the threshold. */
function defineCount(options: CountOptions): ComponentCondition {
  const { id, name, kind, counter, description, alarm, ok, example } = options;
  return defineComponentCondition({
    id,
    name,
    category: CATEGORIES[kind],
    kind,
    description,
    sample: { _metric: `total.${counter}`, count: 12, threshold: 0 },
    example,
    schema: countSchema(kind),
    okWhile: (_, { timeWindow: { ms }, threshold }) => [
      { value: { metric: counter, ms }, holds: sum => !(sum > threshold) },
    ],
    evaluate({ subject, components, open }, { timeWindow, threshold }) {
      const measured = countOf({ subject, components }, timeWindow.ms);
      if (typeof measured === 'string') return { state: 'unknown', reason: measured };
      const count = Math.round(measured.sum);
      const isOver = measured.sum > threshold;
      return {
        state: isOver ? 'alarm' : 'ok',
        describe: () => ({
          fields: { _metric: `total.${counter}`, timeWindow: timeWindow.text, count, threshold },
          text: isOver ? alarm(subject, count, timeWindow.text) : ok(subject, openDuration(open)),
        }),
      };
    },
    explain: ({ subject, components }, { timeWindow, threshold }) => ({
      facts: [
        sumFact(
          {
            name: counter === 'dropped' ? 'dropped events' : counter,
            unit: counter === 'dropped' ? 'events' : 'number',
            windowMs: timeWindow.ms,
            alarm: { when: 'more than', limit: threshold },
          },
          countOf({ subject, components }, timeWindow.ms),
        ),
      ],
      alarmInMs: 0,
      provided: `more than ${threshold} come in ${timeWindow.text}`,
      alarm: () => ({
        fields: {
          _metric: `total.${counter}`,
          timeWindow: timeWindow.text,
          count: threshold + 1,
          threshold,
        },
        text: alarm(subject, threshold + 1, timeWindow.text),
      }),
    }),
  });

  function countOf(
    { subject: { component }, components }: Pick<ComponentEvaluation, 'subject' | 'components'>,
    windowMs: number,
  ): Measurement | string {
    const measured =
      component !== undefined && components.hasMetric(component, counter)
        ? components.measure(component, counter, windowMs)
        : undefined;
    return measured ?? `nothing counts its ${counter}`;
  }
}

function countSchema(kind: ComponentKinds): z.ZodType<CountConf> {
  const schema = z.strictObject({
    ...componentConf(kind, 'The stretch of time that is counted over.'),
    threshold: z.int().min(0).default(0).describe('More than so many are an alarm.'),
  });
  return kind === 'either' ? schema.extend(eitherConf) : schema;
}

export const sourceErrors = defineCount({
  id: 'source-errors',
  name: 'Source Errors',
  kind: 'input',
  counter: 'errors',
  description: 'An input reported more errors in the time window than threshold.',
  alarm: (subject, count, window) =>
    `${subjectTitle('input', subject)} reported ${count} errors in ${window}`,
  ok: (subject, lasted) => `${subjectTitle('input', subject)} reports no more errors after ${lasted}`,
  example: { id: 'app_errors', conf: { name: '*', threshold: 10, timeWindow: '5m' } },
});

export const droppedEvents = defineCount({
  id: 'dropped-events',
  name: 'Dropped Events',
  kind: 'either',
  counter: 'dropped',
  description: 'An input or output dropped more events in the time window than threshold.',
  alarm: (subject, count, window) => `${subjectName(subject)} dropped ${count} events in ${window}`,
  ok: (subject, lasted) => `${subjectName(subject)} drops no more events after ${lasted}`,
  example: { id: 'dest_drops', conf: { name: '*', threshold: 100, timeWindow: '5m' } },
});
