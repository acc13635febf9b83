import * as z from 'zod';
import { findCondition } from '../../conditions/index.ts';
import { aliasesOf } from '../../lib/aliases.ts';
import {
  configureInhibition,
  type InhibitionRule,
  inhibitionSchema,
  MOST_INHIBITIONS,
} from '../../notifications/inhibition/inhibition-rule.ts';
import {
  configureNotification,
  type Notification,
  notificationSchema,
} from '../../notifications/notification.ts';
import { findTargetType, targetTypes } from '../../targets/index.ts';
import type { ProcessUse, Target } from '../../targets/target.ts';
import {
  didYouMean,
  elsewhere,
  type Finding,
  FindingList,
  finding,
  findingList,
  type ItemFinding,
  quote,
} from '../problems.ts';
import { confined, refusedUses } from '../restrictions.ts';
import { fileOrigin, problemsOf } from '../schema-problems.ts';
import { asWritten, childOf, isTemplate, mapsFor, type Schema } from '../schema-walk.ts';
import {
  clearTextSecrets,
  type ReferenceSources,
  resolveReferences,
  withReferredTexts,
} from '../secrets/references.ts';
import { type ConfigDocument, type ConfigItem, readItems } from '../yaml/document.ts';
import { clearText } from './settings.ts';

/** A target as it was written, what its references stand for in their places. Plain data. */
export interface ResolvedTarget {
  readonly value: unknown;
  /** Its references to what is the operator's, which a workspace may not have. */
  readonly operators: readonly ProcessUse[];
}

export interface TargetReading {
  readonly target: Target | undefined;
  /** Undefined where its type is unknown. */
  readonly resolved?: ResolvedTarget | undefined;
  readonly problems: FindingList | readonly Finding[];
  readonly warnings: readonly Finding[];
  /** Warnings of what is not used although it stands there. */
  readonly refusals: readonly Finding[];
  readonly files: readonly string[];
}

/** Reads one target by its type's schema. */
export function readTarget(
  document: ConfigDocument,
  item: ConfigItem,
  sources: ReferenceSources,
): TargetReading {
  const plain = fileOrigin({ ...document, base: item.path });
  const typeName = childOf(item.value, 'type');
  const type = typeof typeName === 'string' ? findTargetType(typeName) : undefined;
  if (type === undefined)
    return {
      target: undefined,
      problems: [
        finding(
          () => plain.place(['type']),
          () => noType(typeName),
        ),
      ],
      warnings: [],
      refusals: [],
      files: [],
    };

  const { schema } = type;
  const resolved = resolveReferences(item.value, { ...sources, schema, templates: templateKeys(schema) });
  const { references, files, value, refused: operators } = resolved;
  const origin = fileOrigin({ ...document, base: item.path, references });
  const placed = ({ path, message }: ItemFinding): Finding => finding(() => origin.place(path), message);
  const unresolved = resolved.problems.map(placed);
  const unknown = resolved.unknown.map(placed);
  const warnings = [
    ...unknown,
    ...clearTextSecrets(schema, item.value, references).map(path => clearText(origin, path)),
  ];
  const read = attempt(() => type.configure(value));
  const refused =
    read.error === undefined ? new FindingList() : problemsOf(read.error, { schema, value, origin });
  const unusable = operators.map(({ path, message }) => placed({ path, message: switchesOff(message) }));
  const problems = findingList(unresolved, elsewhere(refused, [...unresolved, ...unknown, ...unusable]));
  const sound = unresolved.length === 0 ? read.result : undefined;
  const target = sound && withReferredTexts(sound, item.value, value);
  return {
    target: target && confined(target, sources.restrictions, operators),
    resolved: { value, operators },
    problems,
    refusals: [
      ...unusable,
      ...refusedUses(target, sources.restrictions).map(({ path, message }) =>
        finding(() => origin.place(asWritten(schema, path, item.value)), switchesOff(message)),
      ),
    ],
    warnings,
    files,
  };
}

const switchesOff = (reason: string): string => `${reason}; the target is switched off`;

/** The target of an item that was checked elsewhere. */
export function configuredTarget(
  item: unknown,
  { value, operators }: ResolvedTarget,
  restrictions: ReferenceSources['restrictions'],
): Target {
  const name = childOf(value, 'type');
  const type = typeof name === 'string' ? findTargetType(name) : undefined;
  if (type === undefined) throw new Error(`a target of the unknown type '${String(name)}' passed the check`);
  return confined(withReferredTexts(type.configure(value), item, value), restrictions, operators);
}

/** Keys whose `$` belongs to templates and expressions, by every name they have. */
export function templateKeys(schema: Schema): string[] {
  const known = templates.get(schema);
  if (known !== undefined) return known;
  const keys = mapsFor(schema, {}).flatMap(map => {
    const own = Object.entries(map.shape).flatMap(([key, field]) => (isTemplate(field) ? [key] : []));
    const others = [...aliasesOf(map)].filter(([, key]) => own.includes(key));
    return [...own, ...others.map(([name]) => name)];
  });
  templates.set(schema, keys);
  return keys;
}

const templates = new WeakMap<Schema, string[]>();

function noType(typeName: unknown): string {
  const names = targetTypes.map(type => type.type);
  const allowed = `one of ${names.join(', ')}`;
  if (typeName === undefined) return `'type' is required: ${allowed}`;
  const near = typeof typeName === 'string' ? didYouMean(typeName, names) : '';
  return `must be ${allowed}, not ${quote(typeName)}${near}`;
}

export interface NotificationReading {
  readonly notification: Notification | undefined;
  readonly problems: FindingList | readonly Finding[];
}

/** Reads one notification and its condition's conf. */
export function readNotification(document: ConfigDocument, { path, value }: ConfigItem): NotificationReading {
  const origin = fileOrigin({ file: document.file, places: document.places, base: path });
  const read = attempt(() => configureNotification(value));
  if (read.error === undefined) return { notification: read.result, problems: [] };
  const schema = wholeSchema(childOf(value, 'condition'));
  const error = schema.safeParse(value).error ?? read.error;
  return { notification: undefined, problems: problemsOf(error, { schema, value, origin }) };
}

/** The notification's schema with its condition's inside: all that is wrong with either shows at once. */
function wholeSchema(conditionId: unknown): z.ZodType {
  const condition = typeof conditionId === 'string' ? findCondition(conditionId) : undefined;
  if (condition === undefined) return notificationSchema;
  const schema =
    wholeSchemas.get(condition.id) ?? notificationSchema.extend({ conf: optionalMap(condition.schema) });
  wholeSchemas.set(condition.id, schema);
  return schema;
}

/** By condition: to make one takes longer than to read a notification. */
const wholeSchemas = new Map<string, z.ZodType>();

/** A missing map is checked as an empty one, so that the keys missing in it are reported. */
const optionalMap = <Map extends Schema>(schema: Map) => z.prefault(schema, {} as z.input<Map>);

export interface InhibitionsReading {
  readonly inhibitions: readonly InhibitionRule[];
  readonly items: readonly ConfigItem[];
  readonly problems: FindingList;
}

/** Reads the list of inhibitions. */
export function readInhibitions(document: ConfigDocument): InhibitionsReading {
  const { items, problems: ofList } = readItems(document, 'inhibitions');
  const problems = findingList(ofList);
  const inhibitions: InhibitionRule[] = [];
  if (items.length > MOST_INHIBITIONS) {
    const { place } = fileOrigin({ ...document, base: [] });
    const message = `${items.length} inhibitions are more than the ${MOST_INHIBITIONS} that there may be`;
    return { inhibitions, items, problems: findingList([finding(() => place(['inhibitions']), message)]) };
  }
  for (const { path, value } of items) {
    const { result, error } = attempt(() => configureInhibition(value));
    if (result !== undefined) inhibitions.push(result);
    const origin = fileOrigin({ ...document, base: path });
    if (error !== undefined) problems.addAll(problemsOf(error, { schema: inhibitionSchema, value, origin }));
  }
  return { inhibitions, items, problems };
}

interface Attempt<Result> {
  readonly result: Result | undefined;
  readonly error: z.ZodError | undefined;
}

function attempt<Result>(configure: () => Result): Attempt<Result> {
  try {
    return { result: configure(), error: undefined };
  } catch (error) {
    if (error instanceof z.ZodError) return { result: undefined, error };
    throw error;
  }
}
