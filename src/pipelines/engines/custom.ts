import * as z from 'zod';
import { COMPONENT_KINDS, FOLDS, isCounter, METRICS } from '../metric.ts';
import { compilePattern, patternFault } from '../metric-pattern.ts';
import { counter, type EngineProfile, gauge, type ProfileRule } from './profile.ts';

const labelName = z.string().min(1).max(200);

const pattern = z.string().superRefine((text, context) => {
  const fault = patternFault(text);
  if (fault !== undefined) context.addIssue({ code: 'custom', message: fault });
});

/** A rule that users write for the engine `custom`. */
export const customRuleSchema = z
  .strictObject({
    match: pattern.describe('Regular expression for metric names; anchor it with ^ and $.'),
    where: z
      .record(labelName, z.string())
      .optional()
      .describe('Labels a series must carry with these values.'),
    id: labelName.describe('The label that holds the id of the input or output.'),
    type: labelName.optional().describe("The label that holds its type; without it the type is 'custom'."),
    kind: z.enum(COMPONENT_KINDS).describe('Whether the series is of an input or an output.'),
    metric: z.enum(METRICS).describe('What the series counts or measures.'),
    fold: z
      .enum(FOLDS)
      .optional()
      .describe('How several series become one value. Counters are always summed.'),
  })
  .superRefine((value, context) => {
    if (isCounter(value.metric) && value.fold !== undefined && value.fold !== 'sum')
      context.addIssue({
        code: 'custom',
        path: ['fold'],
        message: `must be sum: ${value.metric} is a counter, and the increases of its series are added`,
      });
  });

export type CustomRule = z.output<typeof customRuleSchema>;

/** The profile a user's own rules make. */
export const customProfile = (rules: readonly CustomRule[]): EngineProfile => ({
  engine: 'custom',
  rules: rules.map(ruleOf),
  isOfUser: true,
});

function ruleOf(settings: CustomRule): ProfileRule {
  return {
    match: compilePattern(settings.match),
    kind: settings.kind,
    id: settings.id,
    meaning: isCounter(settings.metric)
      ? counter(settings.metric)
      : gauge(settings.metric, settings.fold ?? 'last'),
    ...(settings.where && { where: settings.where }),
    ...(settings.type && { type: settings.type }),
  };
}
