import { findCondition } from '../conditions/index.ts';
import { EVENT_FIELDS, MAIL_VARIABLES, WHOLE_EVENT_FIELDS } from '../events/event-fields.ts';
import { type Compiled, compileExpressionOrText } from '../expressions/expression.ts';
import { compileTemplate } from '../expressions/template.ts';
import { compileGroup, compileTopic } from '../targets/sns-names.ts';
import type { Finding } from './finding.ts';
import type { Item } from './items.ts';
import { quote } from './quote.ts';
import { childOf } from './schema-walk.ts';
import { didYouMean } from './suggest.ts';
import type { Path } from './yaml-places.ts';

/** Holds the variables of templates against what events have, and against what the metadata of notifications adds. */
export interface Variables {
  ofTarget(item: Item): Finding[];
  ofNotification(item: Item): Finding[];
}

export function variablesOf(notifications: readonly Item[]): Variables {
  const added = notifications.flatMap(metadataOf);
  const events = new Set([...EVENT_FIELDS, ...added]);
  const whole = new Set([...WHOLE_EVENT_FIELDS, ...added]);
  const mail = new Set([...whole, ...MAIL_VARIABLES]);
  const hasPosted = notifications.some(isOnPosted);
  return {
    ofTarget({ path, value }) {
      const type = childOf(value, 'type');
      const known = hasPosted ? undefined : events;
      const texts = (
        keys: readonly string[],
        read: NamesOf,
        fields: ReadonlySet<string> | undefined = known,
      ): Finding[] =>
        fields === undefined
          ? []
          : keys.flatMap(key => unknownIn(read(childOf(value, key)), fields, [...path, key]));
      if (type === 'bulletin_message')
        return texts(['message', 'text'], ofTemplate, hasPosted ? undefined : whole);
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
      if (isOnPosted(item)) return [];
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

/** Whoever posts an event gives it fields that no configuration knows. */
function isOnPosted({ value }: Item): boolean {
  const condition = childOf(value, 'condition');
  const found = typeof condition === 'string' ? findCondition(condition) : undefined;
  return found !== undefined && found.source !== 'component';
}

function metadataOf({ value }: Item): string[] {
  const metadata = childOf(value, 'metadata');
  if (!Array.isArray(metadata)) return [];
  return metadata.map(entry => childOf(entry, 'name')).filter(name => typeof name === 'string');
}

function unknownInMetadata(value: object, path: Path): Finding[] {
  const metadata = childOf(value, 'metadata');
  if (!Array.isArray(metadata)) return [];
  return metadata.flatMap((entry: unknown, index) =>
    unknownIn(ofExpression(childOf(entry, 'value')), ON_EVENTS, [...path, 'metadata', index, 'value']),
  );
}

const unknownIn = (names: readonly string[], known: ReadonlySet<string>, path: Path): Finding[] =>
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
  (compile: (text: string) => Compiled): NamesOf =>
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

function unknownGroupFields(value: object, known: ReadonlySet<string>, path: Path): Finding[] {
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
