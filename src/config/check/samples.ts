import type { ConditionTraits } from '../../conditions/condition.ts';
import { evaluateOnSample } from '../../conditions/expression.ts';
import { findCondition } from '../../conditions/index.ts';
import { sampleEvent } from '../../conditions/sample-event.ts';
import { DEFAULT_LIMITS, type EvaluationMeter } from '../../expressions/evaluation.ts';
import { compileExpression } from '../../expressions/expression.ts';
import { reasonOf } from '../../lib/errors.ts';
import type { ItemFinding } from '../problems.ts';
import { childOf } from '../schema-walk.ts';
import type { ConfigItem } from '../yaml/document.ts';
import type { Path } from '../yaml/places.ts';
import { deadRoutes } from './target-references.ts';
import { evaluateTargetTemplates, failureFinding } from './target-templates.ts';
import { areTrialsOver } from './trials.ts';

type Sample = Readonly<Record<string, unknown>>;

/** Fields that notifications of one condition add; an event with more is not tried: a template may read all of them. */
const MOST_ADDED = 500;

interface ConditionSample {
  readonly whole: Sample;
  /** What metadata adds. */
  readonly added: Map<string, unknown>;
}

function sampleOf(condition: ConditionTraits): ConditionSample | undefined {
  const whole = sampleEvent(condition);
  return whole && { whole, added: new Map() };
}

/** Evaluates expressions on a sample event of each condition that leads to them; reports those that fail. */
export function evaluateSamples(
  targets: readonly ConfigItem[],
  notifications: readonly ConfigItem[],
): ItemFinding[] {
  const meter: EvaluationMeter = { spent: 0 };
  const samples = new Map<string, ConditionSample>();
  const ofMetadata = notifications.flatMap(({ path, value }) => {
    const id = childOf(value, 'condition');
    const condition = typeof id === 'string' ? findCondition(id) : undefined;
    const sample = condition && (samples.get(condition.id) ?? sampleOf(condition));
    if (condition === undefined || sample === undefined) return [];
    samples.set(condition.id, sample);
    return metadataOn(sample, { path, value }, meter);
  });
  const sent = [...samples.values()].flatMap(({ whole, added }) =>
    added.size > MOST_ADDED ? [] : [asSent({ ...whole, ...Object.fromEntries(added) })],
  );
  return [
    ...notifications.flatMap(item => onComponent(item, meter)),
    ...ofMetadata,
    ...targets.flatMap(item => evaluateTargetTemplates(item, sent, meter)),
    ...targets.flatMap(item => deadRoutes(item, meter)),
  ];
}

function metadataOn(
  { whole, added }: ConditionSample,
  { path, value }: Pick<ConfigItem, 'path' | 'value'>,
  meter: EvaluationMeter,
): ItemFinding[] {
  const metadata = childOf(value, 'metadata');
  const entries: readonly unknown[] = Array.isArray(metadata) ? metadata : [];
  return entries.flatMap((entry, index): ItemFinding[] => {
    const [name, text] = [childOf(entry, 'name'), childOf(entry, 'value')];
    const compiled = typeof text === 'string' ? compileExpression(text) : undefined;
    if (compiled?.ok !== true || typeof name !== 'string' || areTrialsOver(meter)) return [];
    const result = attempt(() => compiled.expression.evaluate(whole, { ...DEFAULT_LIMITS, meter }));
    if (result.failure === undefined) added.set(name, result.value);
    return toFindings(result, whole, [...path, 'metadata', index, 'value']);
  });
}

/** Names beginning `__` are left behind. */
const asSent = (sample: Sample): Sample =>
  Object.fromEntries(Object.entries(sample).filter(([name]) => !name.startsWith('__')));

/** The condition itself on a component as one may be. */
function onComponent({ path, value }: ConfigItem, meter: EvaluationMeter): ItemFinding[] {
  if (childOf(value, 'condition') !== 'expression') return [];
  const text = childOf(childOf(value, 'conf'), 'expression');
  const compiled = typeof text === 'string' ? compileExpression(text) : undefined;
  if (compiled?.ok !== true || areTrialsOver(meter)) return [];
  const fault = evaluateOnSample(compiled.expression, meter);
  return fault === undefined
    ? []
    : [{ path: [...path, 'conf', 'expression'], message: `fails on a component: ${fault}` }];
}

interface EvaluationResult {
  readonly value?: unknown;
  readonly failure?: string;
}

function attempt(work: () => unknown): EvaluationResult {
  try {
    return { value: work() };
  } catch (error) {
    return { failure: reasonOf(error) };
  }
}

const toFindings = ({ failure }: EvaluationResult, sample: Sample, path: Path): ItemFinding[] =>
  failure === undefined ? [] : [failureFinding(failure, sample, path)];
