import { trialOf } from '../conditions/expression.ts';
import { findCondition } from '../conditions/index.ts';
import { sampleEvent } from '../conditions/sample-event.ts';
import {
  type Compiled,
  compileExpression,
  compileExpressionOrText,
  type Expression,
} from '../expressions/expression.ts';
import { reasonOf } from '../lib/errors.ts';
import { compileGroup, compileTopic, nameFor, topicFor } from '../targets/sns-names.ts';
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
  const sent = [...samples.values()].map(asSent);
  return [
    ...notifications.flatMap(onComponent),
    ...ofMetadata,
    ...targets.flatMap(item => onTarget(item, sent)),
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

/** Names beginning `__` are left behind. */
const asSent = (sample: Sample): Sample =>
  Object.fromEntries(Object.entries(sample).filter(([name]) => !name.startsWith('__')));

interface Trial {
  readonly keys: readonly string[];
  readonly compile: (text: string) => Compiled;
  /** Throws where it fails. */
  readonly run: (expression: Expression, sample: Sample, key: string) => unknown;
}

/** What an expression of these settings is worked out on, by the target's type. */
const TRIALS: Readonly<Record<string, readonly Trial[]>> = {
  webhook: [
    {
      keys: ['srcExpression', 'customSourceExpression'],
      compile: compileExpressionOrText,
      run: (expression, sample) => expression.evaluate(sample),
    },
    {
      keys: ['customPayloadExpression'],
      compile: compileExpressionOrText,
      run(expression, sample) {
        const value = expression.evaluate({ events: JSON.stringify(sample) });
        if (value === undefined || value === null) throw new Error('it gives nothing');
      },
    },
  ],
  sns: [
    {
      keys: ['topicArn'],
      compile: compileTopic,
      run: (topic, sample) => topic.text && topicFor(topic, sample),
    },
    {
      keys: ['messageGroupId'],
      compile: compileGroup,
      run: (group, sample, key) => group.text && nameFor(key, group, sample),
    },
  ],
};

/** The first sample it fails on says enough. */
function onTarget({ path, value }: Item, samples: readonly Sample[]): Finding[] {
  const type = childOf(value, 'type');
  const trials = typeof type === 'string' && Object.hasOwn(TRIALS, type) ? TRIALS[type] : undefined;
  return (trials ?? []).flatMap(({ keys, compile, run }) =>
    keys.flatMap(key => {
      const text = childOf(value, key);
      const compiled = typeof text === 'string' ? compile(text) : undefined;
      if (compiled?.ok !== true) return [];
      const { expression } = compiled;
      const findings = samples.flatMap(sample =>
        found(
          attempt(() => run(expression, sample, key)),
          sample,
          [...path, key],
        ),
      );
      return findings.slice(0, 1);
    }),
  );
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
