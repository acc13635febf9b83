import { trialOf } from '../conditions/expression.ts';
import { findCondition } from '../conditions/index.ts';
import { sampleEvent } from '../conditions/sample-event.ts';
import { compileExpression, compileExpressionOrText } from '../expressions/expression.ts';
import { reasonOf } from '../lib/errors.ts';
import type { Finding } from './finding.ts';
import type { Item } from './items.ts';
import { childOf } from './schema-walk.ts';
import type { Path } from './yaml-places.ts';

type Sample = Readonly<Record<string, unknown>>;

/** Works out expressions on a sample event of each condition that leads to them; tells those that fail. */
export function trials(targets: readonly Item[], notifications: readonly Item[]): Finding[] {
  const samples = new Map<string, Sample>();
  const ofMetadata = notifications.flatMap(({ path, value }) => {
    const id = childOf(value, 'condition');
    const condition = typeof id === 'string' ? findCondition(id) : undefined;
    const sample = condition && sampleEvent(condition);
    if (condition === undefined || sample === undefined) return [];
    const { added, findings } = metadataOn(sample, value, path);
    samples.set(condition.id, { ...(samples.get(condition.id) ?? sample), ...added });
    return findings;
  });
  return [
    ...notifications.flatMap(onComponent),
    ...ofMetadata,
    ...targets.flatMap(item => onWebhook(item, [...samples.values()])),
  ];
}

function metadataOn(
  sample: Sample,
  value: object,
  path: Path,
): { added: Sample; findings: readonly Finding[] } {
  const metadata = childOf(value, 'metadata');
  const entries: readonly unknown[] = Array.isArray(metadata) ? metadata : [];
  const added: [string, unknown][] = [];
  const findings = entries.flatMap((entry, index): Finding[] => {
    const [name, text] = [childOf(entry, 'name'), childOf(entry, 'value')];
    const compiled = typeof text === 'string' ? compileExpression(text) : undefined;
    if (compiled?.ok !== true || typeof name !== 'string') return [];
    const tried = attempt(() => compiled.expression.evaluate(sample));
    if (tried.failure === undefined) added.push([name, tried.value]);
    return found(tried, sample, [...path, 'metadata', index, 'value']);
  });
  return { added: Object.fromEntries(added), findings };
}

/** The first sample it fails on says enough. */
function onWebhook({ path, value }: Item, samples: readonly Sample[]): Finding[] {
  if (childOf(value, 'type') !== 'webhook') return [];
  return ['srcExpression', 'customSourceExpression'].flatMap(key => {
    const text = childOf(value, key);
    const compiled = typeof text === 'string' ? compileExpressionOrText(text) : undefined;
    if (compiled?.ok !== true) return [];
    const findings = samples.flatMap(sample =>
      found(
        attempt(() => compiled.expression.evaluate(sample)),
        sample,
        [...path, key],
      ),
    );
    return findings.slice(0, 1);
  });
}

/** The condition itself on a component as one may be. */
function onComponent({ path, value }: Item): Finding[] {
  if (childOf(value, 'condition') !== 'expression') return [];
  const text = childOf(childOf(value, 'conf'), 'expression');
  const compiled = typeof text === 'string' ? compileExpression(text) : undefined;
  const fault = compiled?.ok === true ? trialOf(compiled.expression) : undefined;
  return fault === undefined
    ? []
    : [{ path: [...path, 'conf', 'expression'], message: `fails on a component: ${fault}` }];
}

interface Tried {
  readonly value?: unknown;
  readonly failure?: string;
}

function attempt(work: () => unknown): Tried {
  try {
    return { value: work() };
  } catch (error) {
    return { failure: reasonOf(error) };
  }
}

const found = ({ failure }: Tried, sample: Sample, path: Path): Finding[] =>
  failure === undefined
    ? []
    : [{ path, message: `fails on an event of '${String(sample.condition)}': ${failure}` }];
