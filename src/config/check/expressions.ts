import { evaluateOnSample } from '../../conditions/expression.ts';
import { EVENT_FIELDS, findCondition, WHOLE_EVENT_FIELDS } from '../../conditions/index.ts';
import { sampleEvent } from '../../conditions/sample-event.ts';
import { MAIL_VARIABLES } from '../../events/system-fields.ts';
import {
  type CompiledExpression,
  compileExpression,
  compileExpressionOrText,
  type Expression,
} from '../../expressions/expression.ts';
import { compileTemplate } from '../../expressions/template.ts';
import { reasonOf } from '../../lib/errors.ts';
import { compileGroup, compileTopic, evaluateName, evaluateTopic } from '../../targets/sns/names.ts';
import { didYouMean, type ItemFinding, quote } from '../problems.ts';
import { childOf } from '../schema-walk.ts';
import type { ConfigItem } from '../yaml/document.ts';
import type { Path } from '../yaml/places.ts';
import { reachableFrom, type TargetGraph } from './target-graph.ts';

/** Compares the variables of templates with the fields of events and of the metadata of notifications. */
export interface Variables {
  ofTarget(item: ConfigItem): ItemFinding[];
  ofNotification(item: ConfigItem): ItemFinding[];
}

export function variablesOf(notifications: readonly ConfigItem[], graph: TargetGraph): Variables {
  const added = notifications.flatMap(metadataOf);
  const events = new Set([...EVENT_FIELDS, ...added]);
  const whole = new Set([...WHOLE_EVENT_FIELDS, ...added]);
  const mail = new Set([...whole, ...MAIL_VARIABLES]);
  const open = withSenderFields(notifications.filter(receivesEvents), graph);
  return {
    ofTarget({ id, path, value }) {
      const type = childOf(value, 'type');
      const isOpen = id !== undefined && open.has(id);
      const known = isOpen ? undefined : events;
      const texts = (
        keys: readonly string[],
        read: NamesOf,
        fields: ReadonlySet<string> | undefined = known,
      ): ItemFinding[] =>
        fields === undefined
          ? []
          : keys.flatMap(key => unknownIn(read(childOf(value, key)), fields, [...path, key]));
      if (type === 'bulletin_message')
        return texts(['message', 'text'], ofTemplate, isOpen ? undefined : whole);
      if (type === 'sns')
        return [...texts(['topicArn'], ofTopic), ...texts(['messageGroupId'], ofMessageGroup)];
      if (type !== 'webhook') return [];
      return [
        ...texts(['srcExpression', 'customSourceExpression'], ofExpression),
        ...texts(['customPayloadExpression'], ofExpression, PAYLOAD_VARIABLES),
      ];
    },
    ofNotification(item) {
      const { path, value } = item;
      if (receivesEvents(item)) return [];
      const configs = childOf(value, 'targetConfigs');
      const mails = Array.isArray(configs) ? configs : [];
      return [
        ...mails.flatMap((config, index) =>
          ['subject', 'body'].flatMap(key =>
            unknownIn(ofTemplate(childOf(childOf(config, 'conf'), key)), mail, [
              ...path,
              'targetConfigs',
              index,
              'conf',
              key,
            ]),
          ),
        ),
        ...unknownInMetadata(value, path),
        ...unknownGroupFields(value, whole, path),
      ];
    },
  };
}

/** The senders of its events give them fields that no configuration knows. */
function receivesEvents({ value }: ConfigItem): boolean {
  const condition = childOf(value, 'condition');
  return typeof condition === 'string' && findCondition(condition)?.receivesEvents === true;
}

/** Ids of the targets that events of these notifications may reach, by routes and fallbacks too. */
function withSenderFields(notifications: readonly ConfigItem[], graph: TargetGraph): ReadonlySet<string> {
  const named = notifications.flatMap(({ value }) => {
    const targets = childOf(value, 'targets');
    return Array.isArray(targets) ? targets.filter(id => typeof id === 'string') : [];
  });
  return new Set([...new Set(named)].flatMap(id => [...reachableFrom(graph, id).keys()]));
}

function metadataOf({ value }: ConfigItem): string[] {
  const metadata = childOf(value, 'metadata');
  if (!Array.isArray(metadata)) return [];
  return metadata.map(entry => childOf(entry, 'name')).filter(name => typeof name === 'string');
}

function unknownInMetadata(value: object, path: Path): ItemFinding[] {
  const metadata = childOf(value, 'metadata');
  if (!Array.isArray(metadata)) return [];
  return metadata.flatMap((entry: unknown, index) =>
    unknownIn(ofExpression(childOf(entry, 'value')), ON_EVENTS, [...path, 'metadata', index, 'value']),
  );
}

const unknownIn = (names: readonly string[], known: ReadonlySet<string>, path: Path): ItemFinding[] =>
  names
    .filter(name => !known.has(name))
    .map(name => ({ path, message: `unknown variable ${quote(name)}${didYouMean(name, known)}` }));

/** The fields a text reads; none of one that is broken, which its schema tells. */
type NamesOf = (text: unknown) => readonly string[];

const ofTemplate: NamesOf = text => {
  const compiled = typeof text === 'string' ? compileTemplate(text) : undefined;
  return compiled?.ok === true ? compiled.template.names : [];
};

const namesBy =
  (compile: (text: string) => CompiledExpression): NamesOf =>
  text => {
    const compiled = typeof text === 'string' ? compile(text) : undefined;
    return compiled?.ok === true ? compiled.expression.names : [];
  };

const ofExpression = namesBy(compileExpressionOrText);
const ofTopic = namesBy(compileTopic);
const ofMessageGroup = namesBy(compileGroup);

const ON_EVENTS: ReadonlySet<string> = new Set(WHOLE_EVENT_FIELDS);
/** All events of a request as one text. */
const PAYLOAD_VARIABLES: ReadonlySet<string> = new Set(['events']);

function unknownGroupFields(value: object, known: ReadonlySet<string>, path: Path): ItemFinding[] {
  const fields = childOf(value, 'groupBy');
  if (!Array.isArray(fields)) return [];
  return fields.flatMap((field: unknown, index) =>
    typeof field !== 'string' || known.has(field)
      ? []
      : [
          {
            path: [...path, 'groupBy', index],
            message: `no event has a field ${quote(field)}${didYouMean(field, known)}`,
          },
        ],
  );
}

type Sample = Readonly<Record<string, unknown>>;

/** Works out expressions on a sample event of each condition that leads to them; tells those that fail. */
export function evaluateSamples(
  targets: readonly ConfigItem[],
  notifications: readonly ConfigItem[],
): ItemFinding[] {
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
): { added: Sample; findings: readonly ItemFinding[] } {
  const metadata = childOf(value, 'metadata');
  const entries: readonly unknown[] = Array.isArray(metadata) ? metadata : [];
  const added: [string, unknown][] = [];
  const findings = entries.flatMap((entry, index): ItemFinding[] => {
    const [name, text] = [childOf(entry, 'name'), childOf(entry, 'value')];
    const compiled = typeof text === 'string' ? compileExpression(text) : undefined;
    if (compiled?.ok !== true || typeof name !== 'string') return [];
    const result = attempt(() => compiled.expression.evaluate(sample));
    if (result.failure === undefined) added.push([name, result.value]);
    return toFindings(result, sample, [...path, 'metadata', index, 'value']);
  });
  return { added: Object.fromEntries(added), findings };
}

/** Names beginning `__` are left behind. */
const asSent = (sample: Sample): Sample =>
  Object.fromEntries(Object.entries(sample).filter(([name]) => !name.startsWith('__')));

interface SampleEvaluation {
  readonly keys: readonly string[];
  readonly compile: (text: string) => CompiledExpression;
  /** Throws where it fails. */
  readonly run: (expression: Expression, sample: Sample, key: string) => unknown;
}

/** What an expression of these settings is worked out on, by the target's type. */
const SAMPLE_EVALUATIONS: Readonly<Record<string, readonly SampleEvaluation[]>> = {
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
      run: (topic, sample) => topic.text && evaluateTopic(topic, sample),
    },
    {
      keys: ['messageGroupId'],
      compile: compileGroup,
      run: (group, sample, key) => group.text && evaluateName(key, group, sample),
    },
  ],
};

/** The first sample it fails on says enough. */
function onTarget({ path, value }: ConfigItem, samples: readonly Sample[]): ItemFinding[] {
  const type = childOf(value, 'type');
  const evaluateSamples =
    typeof type === 'string' && Object.hasOwn(SAMPLE_EVALUATIONS, type)
      ? SAMPLE_EVALUATIONS[type]
      : undefined;
  return (evaluateSamples ?? []).flatMap(({ keys, compile, run }) =>
    keys.flatMap(key => {
      const text = childOf(value, key);
      const compiled = typeof text === 'string' ? compile(text) : undefined;
      if (compiled?.ok !== true) return [];
      const { expression } = compiled;
      const findings = samples.flatMap(sample =>
        toFindings(
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
function onComponent({ path, value }: ConfigItem): ItemFinding[] {
  if (childOf(value, 'condition') !== 'expression') return [];
  const text = childOf(childOf(value, 'conf'), 'expression');
  const compiled = typeof text === 'string' ? compileExpression(text) : undefined;
  const fault = compiled?.ok === true ? evaluateOnSample(compiled.expression) : undefined;
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
  failure === undefined
    ? []
    : [{ path, message: `fails on an event of '${String(sample.condition)}': ${failure}` }];
