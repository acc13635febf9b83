import * as z from 'zod';
import { DEFAULT_LIMITS, type EvaluationLimits, type EvaluationMeter } from '../expressions/evaluation.ts';
import type { Expression } from '../expressions/expression.ts';
import { expressionText } from '../expressions/schema.ts';
import { reasonOf } from '../lib/errors.ts';
import type { Component, Components } from '../pipelines/components/component.ts';
import { COUNTERS, type Counter } from '../pipelines/metric.ts';
import {
  componentConf,
  defineComponentCondition,
  eitherConf,
  type MeasuredFact,
  openDuration,
  type Subject,
  subjectName,
  type Verdict,
} from './condition.ts';

/** The expression is in the text of every event. */
const MAX_EXPRESSION_LENGTH = 1024;

const booleanText = expressionText.superRefine(({ text, names }, context) => {
  const refuse = (message: string): void => context.addIssue({ code: 'custom', message, input: text });
  if (text.length > MAX_EXPRESSION_LENGTH) refuse(`must be at most ${MAX_EXPRESSION_LENGTH} characters`);
  for (const name of names)
    if (!MEASURE_NAMES.includes(name))
      refuse(`does not know '${name}'; the names are ${MEASURE_NAMES.join(', ')}`);
});

const schema = z.strictObject({
  ...componentConf('either', 'The stretch of time whose data is added up.'),
  ...eitherConf,
  expression: booleanText.describe(
    'True is an alarm. It sees `in_events`, `in_bytes`, `out_events`, `out_bytes`, `errors` and `dropped` of the window, each also as `…_per_second`, the gauges `blocked`, `queue_size`, `queue_capacity` and `up`, `replicas`, and `silent_seconds`.',
  ),
});

/** An expression over the metrics of a component in a window. */
export const expression = defineComponentCondition({
  id: 'expression',
  name: 'Expression',
  category: 'components',
  kind: 'either',
  description: 'An expression over the metrics of an input or output is true.',
  sample: { _metric: 'expression', expression: 'errors > 10', values: { errors: 12 } },
  example: {
    id: 'app_ratio',
    conf: {
      name: 'syslog:app',
      timeWindow: '5m',
      expression: 'errors > 0.01 * in_events && in_events > 1000',
    },
  },
  schema,
  evaluate({ subject, components, open }, { expression: predicate, timeWindow }): Verdict {
    const { component } = subject;
    if (component === undefined) return { state: 'unknown', reason: 'it was never seen' };
    const values = measured(predicate.names, { component, components, windowMs: timeWindow.ms });
    if (values instanceof Unmeasured) return { state: 'unknown', reason: values.reason };
    const result = evaluatePredicate(predicate, values);
    if (typeof result === 'string') return { state: 'unknown', reason: result, isFault: true };
    return {
      state: result ? 'alarm' : 'ok',
      describe: () => ({
        fields: { _metric: 'expression', expression: predicate.text, values, timeWindow: timeWindow.text },
        text: `${subjectAndText(subject, predicate)} ${result ? `held in ${timeWindow.text}` : `holds no more after ${openDuration(open)}`}${formatValues(values)}`,
      }),
    };
  },
  explain({ subject, components }, { expression: predicate, timeWindow }) {
    const { component } = subject;
    const facts = predicate.names.map((name): MeasuredFact => {
      const value =
        component === undefined
          ? new Unmeasured('it was never seen')
          : measureOf(name, { component, components, windowMs: timeWindow.ms });
      const fact = { name, unit: 'number', windowMs: timeWindow.ms } as const;
      return value instanceof Unmeasured
        ? { ...fact, value: undefined, unknown: value.reason }
        : { ...fact, value };
    });
    const values = Object.fromEntries(
      facts.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value]])),
    );
    return {
      facts,
      alarmInMs: 0,
      provided: `${predicate.text} is true`,
      alarm: () => ({
        fields: { _metric: 'expression', expression: predicate.text, values, timeWindow: timeWindow.text },
        text: `${subjectAndText(subject, predicate)} held in ${timeWindow.text}${formatValues(values)}`,
      }),
    };
  },
});

const subjectAndText = (subject: Subject, { text }: Expression): string =>
  `${subjectName(subject)}: ${text.replace(/\s+/g, ' ').trim()}`;

/** Returns true when it holds; otherwise false or what is wrong with it. */
function evaluatePredicate(
  predicate: Expression,
  values: Readonly<Record<string, number>>,
  limits?: EvaluationLimits,
): boolean | string {
  try {
    const result = predicate.evaluate(values, limits);
    return typeof result === 'boolean'
      ? result
      : `it gives ${describeType(result)}, and must give true or false`;
  } catch (error) {
    return reasonOf(error);
  }
}

const describeType = (result: unknown): string =>
  result === null || result === undefined ? 'nothing' : `a ${Array.isArray(result) ? 'list' : typeof result}`;

const formatValues = (values: Readonly<Record<string, number>>): string => {
  const parts = Object.entries(values).map(([name, value]) => `${name} ${Number(value.toPrecision(4))}`);
  return parts.length === 0 ? '' : ` (${parts.join(', ')})`;
};

/** Tries it on a sample component; returns what is wrong with it. */
export function evaluateOnSample(predicate: Expression, meter?: EvaluationMeter): string | undefined {
  const values = Object.fromEntries(predicate.names.map((name, index) => [name, index + 1]));
  const result = evaluatePredicate(predicate, values, { ...DEFAULT_LIMITS, meter });
  return typeof result === 'string' ? result : undefined;
}

const GAUGES = ['blocked', 'queue_size', 'queue_capacity', 'up'] as const;

/** Counts of rare incidents: engines omit such series while they are 0. */
const ZERO_WHEN_ABSENT: readonly string[] = ['errors', 'dropped'];

/** The reason why a measure has no value now. */
export class Unmeasured {
  readonly reason: string;
  constructor(reason: string) {
    this.reason = reason;
  }
}

interface MeasureInput {
  readonly component: Component;
  readonly components: Components;
  readonly windowMs: number;
}

type Measure = (input: MeasureInput) => number | Unmeasured;

const sumOf =
  (counter: Counter): Measure =>
  ({ component, components, windowMs }) => {
    if (!components.hasMetric(component, counter) && !ZERO_WHEN_ABSENT.includes(counter))
      return new Unmeasured(`nothing counts its ${counter}`);
    const total = components.measure(component, counter, windowMs);
    if (total === undefined)
      return new Unmeasured('too many notifications look at it over different windows');
    return total.observedMs < windowMs
      ? new Unmeasured('it has been watched for less than the window')
      : total.sum;
  };

const perSecond =
  (counter: Counter): Measure =>
  input => {
    const sum = sumOf(counter)(input);
    return typeof sum === 'number' ? sum / (input.windowMs / 1000) : sum;
  };

const gauge =
  (name: string): Measure =>
  ({ component, components }) =>
    components.status(component).metrics[name] ?? new Unmeasured(`nothing reports its ${name}`);

const MEASURES: ReadonlyMap<string, Measure> = new Map<string, Measure>([
  ...COUNTERS.map((counter): [string, Measure] => [counter, sumOf(counter)]),
  ...COUNTERS.map((counter): [string, Measure] => [`${counter}_per_second`, perSecond(counter)]),
  ...GAUGES.map((name): [string, Measure] => [name, gauge(name)]),
  ['replicas', ({ component, components }) => components.status(component).replicas],
  ['silent_seconds', ({ component, components }) => components.silentMs(component) / 1000],
]);

const measureOf = (name: string, input: MeasureInput): number | Unmeasured =>
  MEASURES.get(name)?.(input) ?? new Unmeasured(`'${name}' is no measure`);

/**
 * Names that an expression on a component may use: sums over its window, rates, gauges, replicas, seconds without data.
 */
export const MEASURE_NAMES: readonly string[] = [...MEASURES.keys()];

/** Reads the values of these names now, or why one has none. Reads all, as each is observed from its first use. */
function measured(
  names: readonly string[],
  input: MeasureInput,
): Readonly<Record<string, number>> | Unmeasured {
  const values: Record<string, number> = {};
  let missing: Unmeasured | undefined;
  for (const name of names) {
    const value = measureOf(name, input);
    if (value instanceof Unmeasured) missing ??= value;
    else values[name] = value;
  }
  return missing ?? values;
}
