import { findCondition } from '../conditions/index.ts';
import { EVENT_FIELDS, MAIL_VARIABLES } from '../events/event-fields.ts';
import { compileTemplate } from '../expressions/template.ts';
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
  const events = new Set([...EVENT_FIELDS, ...notifications.flatMap(metadataOf)]);
  const mail = new Set([...events, ...MAIL_VARIABLES]);
  const hasPosted = notifications.some(isOnPosted);
  return {
    ofTarget({ path, value }) {
      if (hasPosted || childOf(value, 'type') !== 'bulletin_message') return [];
      return ['message', 'text'].flatMap(key => unknownIn(childOf(value, key), events, [...path, key]));
    },
    ofNotification(item) {
      const { path, value } = item;
      if (isOnPosted(item)) return [];
      const configs = childOf(value, 'targetConfigs');
      const mails = Array.isArray(configs) ? configs : [];
      return [
        ...mails.flatMap((config, index) =>
          ['subject', 'body'].flatMap(key =>
            unknownIn(childOf(childOf(config, 'conf'), key), mail, [
              ...path,
              'targetConfigs',
              index,
              'conf',
              key,
            ]),
          ),
        ),
        ...unknownGroupFields(value, events, path),
      ];
    },
  };
}

/** Whoever posts an event gives it fields that no configuration knows. */
function isOnPosted({ value }: Item): boolean {
  const condition = childOf(value, 'condition');
  return typeof condition === 'string' && findCondition(condition)?.source === 'posted';
}

function metadataOf({ value }: Item): string[] {
  const metadata = childOf(value, 'metadata');
  if (!Array.isArray(metadata)) return [];
  return metadata.map(entry => childOf(entry, 'name')).filter(name => typeof name === 'string');
}

function unknownIn(text: unknown, known: ReadonlySet<string>, path: Path): Finding[] {
  if (typeof text !== 'string') return [];
  return variablesIn(text)
    .filter(name => !known.has(name))
    .map(name => ({
      path,
      message: `unknown variable ${quote(name)}${didYouMean(name, known)}`,
    }));
}

/** What is broken is told by the schema. */
function variablesIn(text: string): readonly string[] {
  const compiled = compileTemplate(text);
  return compiled.ok ? compiled.template.names : [];
}

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
