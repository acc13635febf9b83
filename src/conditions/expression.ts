import * as z from 'zod';
import type { Expression } from '../expressions/expression.ts';
import { reasonOf } from '../lib/errors.ts';
import { expressionText } from '../targets/expression-text.ts';
import { componentConf, eitherConf } from './component-conf.ts';
import { defineCondition, type Subject, type Verdict } from './condition.ts';
import { MEASURE_NAMES, measured, Unmeasured } from './measures.ts';
import { lasted, nameOf } from './wording.ts';

/** It stands in every text that is told. */
const LONGEST = 1024;

const booleanText = expressionText.superRefine(({ text, names }, context) => {
  const refuse = (message: string): void => context.addIssue({ code: 'custom', message, input: text });
  if (text.length > LONGEST) refuse(`must be at most ${LONGEST} characters`);
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

/** Whatever can be said of the metrics of a component over a window. */
export const expression = defineCondition({
  id: 'expression',
  name: 'Expression',
  category: 'components',
  kind: 'either',
  description: 'An expression over the metrics of an input or output is true.',
  schema,
  evaluate({ subject, components, open }, { expression: asked, timeWindow }): Verdict {
    const { component } = subject;
    if (component === undefined) return { state: 'unknown', reason: 'it was never seen' };
    const values = measured(asked.names, { component, components, windowMs: timeWindow.ms });
    if (values instanceof Unmeasured) return { state: 'unknown', reason: values.reason };
    const answer = answerOf(asked, values);
    if (typeof answer === 'string') return { state: 'unknown', reason: answer, isFault: true };
    return {
      state: answer ? 'alarm' : 'ok',
      describe: () => ({
        fields: { _metric: 'expression', expression: asked.text, values, timeWindow: timeWindow.text },
        text: `${claim(subject, asked)} ${answer ? `held in ${timeWindow.text}` : `holds no more after ${lasted(open)}`}${shown(values)}`,
      }),
    };
  },
});

const claim = (subject: Subject, { text }: Expression): string =>
  `${nameOf(subject)}: ${text.replace(/\s+/g, ' ').trim()}`;

/** Whether it holds, or what is wrong with it. */
function answerOf(asked: Expression, values: Readonly<Record<string, number>>): boolean | string {
  try {
    const answer = asked.evaluate(values);
    return typeof answer === 'boolean' ? answer : `it gives ${kindOf(answer)}, and must give true or false`;
  } catch (error) {
    return reasonOf(error);
  }
}

const kindOf = (answer: unknown): string =>
  answer === null || answer === undefined ? 'nothing' : `a ${Array.isArray(answer) ? 'list' : typeof answer}`;

const shown = (values: Readonly<Record<string, number>>): string => {
  const parts = Object.entries(values).map(([name, value]) => `${name} ${Number(value.toPrecision(4))}`);
  return parts.length === 0 ? '' : ` (${parts.join(', ')})`;
};

/** Tries it on a component as one may be; answers what is wrong with it. */
export function trialOf(asked: Expression): string | undefined {
  const values = Object.fromEntries(asked.names.map((name, index) => [name, index + 1]));
  const answer = answerOf(asked, values);
  return typeof answer === 'string' ? answer : undefined;
}
