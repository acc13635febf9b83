import * as z from 'zod';
import { EVENT_FIELDS, findCondition, WHOLE_EVENT_FIELDS } from '../../conditions/index.ts';
import { SEVERITIES } from '../../events/event.ts';
import { MAIL_VARIABLES } from '../../events/system-fields.ts';
import { type CompiledExpression, compileExpressionOrText } from '../../expressions/expression.ts';
import { compileTemplate } from '../../expressions/template.ts';
import { compileMatchers, type Matcher, matcherSchema } from '../../notifications/matchers.ts';
import { TARGET_FAILING, TARGET_HEALTH } from '../../notifications/notification.ts';
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
  /** What an inhibition compares in vain. */
  ofInhibition(item: ConfigItem): ItemFinding[];
}

export function variablesOf(notifications: readonly ConfigItem[], graph: TargetGraph): Variables {
  const added = notifications.flatMap(metadataOf);
  const events = new Set([...EVENT_FIELDS, ...added]);
  const whole = new Set([...WHOLE_EVENT_FIELDS, ...added]);
  const mail = new Set([...whole, ...MAIL_VARIABLES]);
  const open = withSenderFields(notifications.filter(receivesEvents), graph);
  const any: KnownFields = { outgoing: undefined, whole: undefined };
  const known: KnownFields = { outgoing: events, whole };
  const compared = comparedFields(notifications, whole);
  return {
    ofInhibition: item => unmatched(item, compared),
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
    const targets = [childOf(value, 'targets'), childOf(value, 'escalateTo')];
    return targets.flat().filter(id => typeof id === 'string');
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

/** What matchers can be compared with. */
interface ComparedFields {
  readonly names: ReadonlySet<string>;
  /** True when senders may give events any other field. */
  readonly isOpen: boolean;
  /** All values of those fields of which they are known. */
  readonly values: ReadonlyMap<string, readonly string[]>;
}

/** `pipeline` and `group` are known of every event of a component. */
const comparedFields = (
  notifications: readonly ConfigItem[],
  fields: ReadonlySet<string>,
): ComparedFields => ({
  names: new Set([...fields, 'pipeline', 'group']),
  isOpen: notifications.some(receivesEvents),
  values: new Map<string, readonly string[]>([
    ['cribl_notification', [TARGET_HEALTH, ...notifications.flatMap(({ id = [] }) => id)]],
    [
      'condition',
      [TARGET_FAILING, ...notifications.flatMap(({ value }) => textsOf([childOf(value, 'condition')]))],
    ],
    ['severity', SEVERITIES],
    ['status', ['ALARM']],
  ]),
});

const textsOf = (values: readonly unknown[]): string[] => values.filter(value => typeof value === 'string');

function unmatched({ path, value }: ConfigItem, compared: ComparedFields): ItemFinding[] {
  const equal = childOf(value, 'equal');
  const [when, hold] = [sideOf(value, 'when'), sideOf(value, 'hold')];
  const isSame = when.length > 0 && JSON.stringify(when) === JSON.stringify(hold);
  return [
    ...unmatchedIn(when, [...path, 'when'], compared),
    ...unmatchedIn(hold, [...path, 'hold'], compared),
    ...(Array.isArray(equal) ? equal : []).flatMap((name: unknown, index) =>
      typeof name === 'string' ? unknownField(name, [...path, 'equal', index], compared) : [],
    ),
    ...(isSame
      ? [
          {
            path: [...path, 'hold'],
            message: 'is the same as `when`, and what fits both inhibits no other such alarm',
          },
        ]
      : []),
  ];
}

/** Empty for a side that is refused anyway. */
const sideOf = (value: object, side: 'when' | 'hold'): readonly Matcher[] =>
  z.array(matcherSchema).safeParse(childOf(value, side)).data ?? [];

function unmatchedIn(side: readonly Matcher[], path: Path, compared: ComparedFields): ItemFinding[] {
  const names = [...new Set(side.map(({ name }) => name))];
  return names.flatMap(name => {
    const own = side.filter(one => one.name === name);
    const place = [...path, side.findIndex(one => one.name === name)];
    const unknown = unknownField(name, [...place, 'name'], compared);
    if (unknown.length > 0) return unknown;
    const equal = own.find(({ op }) => op === '=');
    const values = compared.values.get(name) ?? (equal === undefined ? undefined : [equal.value]);
    if (values === undefined || values.some(value => compileMatchers(own)(() => value))) return [];
    const near = equal === undefined ? '' : didYouMean(equal.value, values);
    return [{ path: [...place, 'value'], message: `nothing can fit what is asked of ${quote(name)}${near}` }];
  });
}

/** Where senders may give an event any field, only what looks like a slip is one. */
function unknownField(name: string, path: Path, { names, isOpen }: ComparedFields): ItemFinding[] {
  if (names.has(name)) return [];
  const near = didYouMean(name, names);
  return isOpen && near === '' ? [] : [{ path, message: `no event has a field ${quote(name)}${near}` }];
}
