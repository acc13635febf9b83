import { EVENT_FIELDS, findCondition, WHOLE_EVENT_FIELDS } from '../../conditions/index.ts';
import { MAIL_VARIABLES } from '../../events/system-fields.ts';
import { type CompiledExpression, compileExpressionOrText } from '../../expressions/expression.ts';
import { compileTemplate } from '../../expressions/template.ts';
import { didYouMean, type ItemFinding, quote } from '../problems.ts';
import { childOf } from '../schema-walk.ts';
import type { ConfigItem } from '../yaml/document.ts';
import type { Path } from '../yaml/places.ts';
import { ReachedTargets, type TargetGraph } from './target-graph.ts';
import { type KnownFields, unknownTargetVariables, unknownVariables } from './target-templates.ts';

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
  const any: KnownFields = { outgoing: undefined, whole: undefined };
  const known: KnownFields = { outgoing: events, whole };
  return {
    ofTarget: item => unknownTargetVariables(item, item.id !== undefined && open.has(item.id) ? any : known),
    ofNotification(item) {
      const { path, value } = item;
      if (receivesEvents(item)) return [];
      const configs = childOf(value, 'targetConfigs');
      const mails = Array.isArray(configs) ? configs : [];
      return [
        ...mails.flatMap((config, index) =>
          ['subject', 'body'].flatMap(key =>
            unknownVariables(ofTemplate(childOf(childOf(config, 'conf'), key)), mail, [
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
  const reached = new ReachedTargets(graph);
  return new Set(named.flatMap(id => reached.follow(id)));
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
    unknownVariables(ofExpression(childOf(entry, 'value')), WHOLE_EVENT_FIELDS, [
      ...path,
      'metadata',
      index,
      'value',
    ]),
  );
}

/** The fields a text reads; none of one that is broken, which its schema reports. */
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

function unknownGroupFields(value: object, known: ReadonlySet<string>, path: Path): ItemFinding[] {
  const fields = childOf(value, 'groupBy');
  if (!Array.isArray(fields)) return [];
  return fields.flatMap((field: unknown, index) =>
    typeof field !== 'string' || known.has(field)
      ? []
      : [
          {
            path: [...path, 'groupBy', index],
            message: () => `no event has a field ${quote(field)}${didYouMean(field, known)}`,
          },
        ],
  );
}
