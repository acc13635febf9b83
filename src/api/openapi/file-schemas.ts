import * as z from 'zod';
import { conditions } from '../../conditions/index.ts';
import {
  FILES,
  type FileName,
  INPUTS_FILE,
  NOTIFICATIONS_FILE,
  OUTPUTS_FILE,
  SETTINGS_FILE,
} from '../../config/configuration.ts';
import { declaredSchema } from '../../config/declared-schema.ts';
import { isMap, type PlainMap } from '../../config/plain.ts';
import { templateKeys } from '../../config/read/items.ts';
import { settingsSchema } from '../../config/settings.ts';
import { inhibitionSchema, MOST_INHIBITIONS } from '../../notifications/inhibition/inhibition-rule.ts';
import { notificationSchema } from '../../notifications/notification.ts';
import { targetTypes } from '../../targets/index.ts';
import { jsonSchemaOf } from './schemas.ts';

/**
 * JSON Schemas of the files of a configuration, by name, for editors. They refuse nothing that the reader accepts; rules
 * between settings are left to `headgate check`. Draft 7 is what editors know best: what depends on a value, such as the
 * settings of a type, is an `if` on it, so that an error stands at its place and not at the whole item.
 */
export function fileSchemas(): ReadonlyMap<FileName, PlainMap> {
  const documents: Readonly<Record<FileName, () => PlainMap>> = {
    [SETTINGS_FILE]: settingsDocument,
    [NOTIFICATIONS_FILE]: notificationsDocument,
    [INPUTS_FILE]: () => declaredDocument('inputs'),
    [OUTPUTS_FILE]: () => declaredDocument('outputs'),
  };
  return new Map(FILES.map(name => [name, documents[name]()]));
}

const DRAFT = 'http://json-schema.org/draft-07/schema#';

/** As the reader knows one: it stands for the whole of a value. */
const REFERENCE_PATTERN = '^\\$\\{(env|file|secret):[^}]+\\}$';
const DEFINED_REFERENCE = {
  reference: {
    type: 'string',
    pattern: REFERENCE_PATTERN,
    description: 'Stands for a variable of the environment, the content of a file, or a stored secret.',
  },
};
const REFERENCE = { $ref: '#/definitions/reference' };

/** How the reader takes the values of a file beside what the schema says. */
interface Reading {
  /** `${env:NAME}` and the like may stand for a single value. */
  readonly references: boolean;
  /** A known key without a value counts as left out. */
  readonly nulls: boolean;
  /** Keys at the top whose `$` is their own. */
  readonly templates?: readonly string[];
}

const PLAIN: Reading = { references: false, nulls: false };

/** Keys that begin with `x-` hold what aliases of the file stand for. */
const fileDocument = (properties: PlainMap, definitions: PlainMap): PlainMap => ({
  $schema: DRAFT,
  type: ['object', 'null'],
  properties,
  patternProperties: { '^x-': {} },
  additionalProperties: false,
  definitions,
});

function settingsDocument(): PlainMap {
  const { properties } = asFile(jsonSchemaOf(settingsSchema, 'whole'), { references: true, nulls: true });
  return fileDocument(isMap(properties) ? properties : {}, DEFINED_REFERENCE);
}

function notificationsDocument(): PlainMap {
  const targets = 'Where alerts go.';
  const notifications = 'What is watched, and which targets are notified.';
  const inhibitions = 'Alarms that are not sent while others are open.';
  const many = { maxItems: MOST_INHIBITIONS, maxProperties: MOST_INHIBITIONS };
  return fileDocument(
    {
      targets: section('target', targets),
      notifications: section('notification', notifications),
      inhibitions: { ...section('inhibition', inhibitions), ...many },
    },
    {
      ...DEFINED_REFERENCE,
      target: withoutId(targetSchema()),
      notification: withoutId(typedNotification()),
      inhibition: withoutId(asFile(jsonSchemaOf(inhibitionSchema, 'whole'), PLAIN)),
    },
  );
}

const declaredDocument = (name: 'inputs' | 'outputs'): PlainMap =>
  fileDocument(
    { [name]: section('component', `The ${name} that pipelines should have.`) },
    { component: withoutId(asFile(jsonSchemaOf(declaredSchema, 'whole'), PLAIN)) },
  );

/** A list of items with ids, or a map of items by id. */
const section = (definition: string, description: string): PlainMap => ({
  description,
  type: ['array', 'object', 'null'],
  items: { allOf: [{ $ref: `#/definitions/${definition}` }, { required: ['id'] }] },
  additionalProperties: { $ref: `#/definitions/${definition}` },
  propertyNames: { pattern: String(jsonSchemaOf(declaredSchema.shape.id, 'whole').pattern) },
});

/** In a map the key is the id. */
function withoutId(item: PlainMap): PlainMap {
  const required = textsOf(item.required).filter(key => key !== 'id');
  return { ...item, ...(required.length > 0 && { required }) };
}

const textsOf = (value: unknown): string[] => (Array.isArray(value) ? value.map(String) : []);

/** A target is read by the schema of its type. References are taken in every setting but in `type` and in templates. */
function targetSchema(): PlainMap {
  const types = targetTypes.map(({ type, description, schema }) => {
    const reading = { references: true, nulls: false, templates: [...templateKeys(schema), 'type'] };
    const own = asFile(jsonSchemaOf(schema, 'whole'), reading);
    const properties = isMap(own.properties) ? own.properties : {};
    const named = { ...properties, type: { const: type, description } };
    return { value: type, content: { title: type, ...withoutId({ ...own, properties: named }) } };
  });
  return {
    type: 'object',
    properties: { type: { enum: types.map(({ value }) => value) } },
    required: ['type'],
    allOf: types.map(({ value, content }) => when(hasValue('type', value), content)),
  };
}

/** A notification, whose `conf` is that of its condition. */
function typedNotification(): PlainMap {
  const { properties, ...common } = asFile(jsonSchemaOf(notificationSchema, 'whole'), PLAIN);
  return {
    ...common,
    properties: { ...(isMap(properties) && properties), condition: { enum: conditions.map(({ id }) => id) } },
    allOf: conditions.map(({ id, name, description, schema }) =>
      when(hasValue('condition', id), {
        properties: {
          condition: { title: name, description },
          conf: asFile(jsonSchemaOf(schema, 'whole'), PLAIN),
        },
        ...(!z.safeParse(schema, {}).success && { required: ['conf'] }),
      }),
    ),
  };
}

const hasValue = (key: string, value: string): PlainMap => ({
  properties: { [key]: { const: value } },
  required: [key],
});

/** Made of entries: a literal with the key `then` would look like a promise. */
const when = (condition: PlainMap, content: PlainMap, otherwise?: PlainMap): PlainMap =>
  Object.fromEntries([
    ['if', condition],
    ['then', content],
    ...(otherwise === undefined ? [] : [['else', otherwise]]),
  ]);

const SINGLE = ['string', 'number', 'integer', 'boolean'];
/** Below this a reference may be longer than the value that it stands for. */
const SHORT_TEXT = 256;

function asFile(schema: PlainMap, reading: Reading): PlainMap {
  if (Array.isArray(schema.oneOf)) return byTag(schema, schema.oneOf.flatMap(variantsOf), reading);
  if (SINGLE.includes(String(schema.type))) return single(schema, reading);
  if (schema.type === 'array' && isMap(schema.items))
    return { ...schema, items: asFile(schema.items, { ...reading, nulls: false, templates: [] }) };
  return schema.type === 'object' ? mapAsFile(schema, reading) : schema;
}

/** The alternatives of a union, taken apart to the last one. */
function variantsOf(schema: unknown): PlainMap[] {
  if (!isMap(schema)) return [];
  return Array.isArray(schema.oneOf) ? schema.oneOf.flatMap(variantsOf) : [schema];
}

/** What the value is about stays outside, where editors look for it. They show the default where the description does. */
function single({ description: about, ...plain }: PlainMap, { references }: Reading): PlainMap {
  const usual = plain.default === undefined ? '' : ` Default: ${defaultText(plain.default)}.`;
  const schema = about === undefined ? plain : { description: `${about}${usual}`, ...plain };
  const isFree =
    schema.type === 'string' &&
    !['pattern', 'enum', 'const'].some(key => key in schema) &&
    Number(schema.maxLength ?? SHORT_TEXT) >= SHORT_TEXT;
  // What a reference stands for is read as a text where only one value is right.
  if (!references || isFree || typeof schema.const === 'boolean') return schema;
  const outside = Object.entries(schema).filter(([key]) => ABOUT.includes(key));
  const value = Object.entries(schema).filter(([key]) => !ABOUT.includes(key));
  return { ...Object.fromEntries(outside), anyOf: [Object.fromEntries(value), REFERENCE] };
}

const ABOUT = ['description', 'default', 'examples'];

const defaultText = (value: unknown): string =>
  /^\S+$/.test(String(value)) ? String(value) : JSON.stringify(value);

function mapAsFile(schema: PlainMap, reading: Reading): PlainMap {
  const { additionalProperties: others, ...rest } = schema;
  const required = textsOf(schema.required);
  const properties = isMap(schema.properties) ? schema.properties : {};
  const below: Reading = { ...reading, templates: [] };
  const read = Object.entries(properties).flatMap(([key, value]): [string, PlainMap][] => {
    if (!isMap(value)) return [];
    const isTemplate = reading.templates?.includes(key) === true;
    const { 'x-aliases': names, ...described } = value;
    const plain = asFile(described, { ...below, references: below.references && !isTemplate });
    const own = reading.nulls && !required.includes(key) ? orNull(plain) : plain;
    return [[key, own], ...textsOf(names).map((name): [string, PlainMap] => [name, own])];
  });
  const rules = aliasRules(properties, required);
  const named = rules.flatMap(({ key }) => key);
  const needed = required.filter(key => !named.includes(key));
  const { required: _, ...open } = rest;
  return {
    ...open,
    ...(schema.properties !== undefined && { properties: Object.fromEntries(read) }),
    ...(needed.length > 0 && { required: needed }),
    ...(others !== undefined && {
      additionalProperties: isMap(others) ? asFile(others, { ...below, nulls: false }) : others,
    }),
    ...(rules.length > 0 && { allOf: rules.map(({ rule }) => rule) }),
  };
}

/** A key may be written by one of its names; both are too many. */
function aliasRules(
  properties: PlainMap,
  required: readonly string[],
): { readonly key: string; readonly rule: PlainMap }[] {
  return Object.entries(properties).flatMap(([key, value]) =>
    textsOf(isMap(value) ? value['x-aliases'] : undefined).map(name => ({
      key,
      rule: when(
        { required: [name] },
        { properties: { [key]: false } },
        required.includes(key) ? { required: [key] } : undefined,
      ),
    })),
  );
}

function orNull(schema: PlainMap): PlainMap {
  if (Array.isArray(schema.anyOf)) return { ...schema, anyOf: [...schema.anyOf, { type: 'null' }] };
  const values = Array.isArray(schema.enum) ? { enum: [...schema.enum, null] } : {};
  return schema.type === undefined ? schema : { ...schema, type: [schema.type, 'null'], ...values };
}

/** The values that a map may have under the key, where they are few. */
function valuesOf(variant: PlainMap, key: string): readonly unknown[] {
  const { properties } = variant;
  const property = isMap(properties) ? properties[key] : undefined;
  if (!isMap(property)) return [];
  return Array.isArray(property.enum) ? property.enum : 'const' in property ? [property.const] : [];
}

/**
 * A union of maps, each chosen by the values of keys that differ among them. Where a reference stands for one that all
 * need, nothing can be said of the others.
 */
function byTag(schema: PlainMap, variants: readonly PlainMap[], reading: Reading): PlainMap {
  const { oneOf: _, ...rest } = schema;
  const [first = {}] = variants;
  const keys = variants.flatMap(({ properties }) => Object.keys(properties ?? {}));
  const tags = [...new Set(keys)].filter(key => {
    const sets = variants.map(variant => valuesOf(variant, key));
    return new Set(sets.map(set => JSON.stringify(set))).size > 1 && sets.some(set => set.length > 0);
  });
  const needed = tags.filter(tag => variants.every(({ required }) => textsOf(required).includes(tag)));
  const others = tags.filter(tag => !needed.includes(tag));
  const common = needed.map((tag): [string, PlainMap] => {
    const { properties } = first;
    const { description } = isMap(properties) && isMap(properties[tag]) ? properties[tag] : {};
    const values = [...new Set(variants.flatMap(variant => valuesOf(variant, tag)))];
    return [tag, asFile({ type: 'string', enum: values, description }, reading)];
  });
  return {
    ...rest,
    type: 'object',
    properties: Object.fromEntries(common),
    required: needed,
    allOf: variants.map(variant =>
      when(isVariant(variant, variants, { needed, others }), asFile(variant, { ...reading, nulls: false })),
    ),
  };
}

interface Tags {
  /** Those that every variant requires. */
  readonly needed: readonly string[];
  /** Those that decide among variants which agree in the needed ones. */
  readonly others: readonly string[];
}

/** True of maps that are to be this variant, however much of it is wrong. */
function isVariant(variant: PlainMap, variants: readonly PlainMap[], { needed, others }: Tags): PlainMap {
  const overlaps = (one: PlainMap): boolean =>
    needed.every(tag => valuesOf(one, tag).some(value => valuesOf(variant, tag).includes(value)));
  const rivals = variants.filter(one => one !== variant && overlaps(one));
  const taken = (tag: string): unknown[] => rivals.flatMap(rival => valuesOf(rival, tag));
  const deciding = others.filter(
    tag => taken(tag).length > 0 && !valuesOf(variant, tag).some(value => taken(tag).includes(value)),
  );
  const required = deciding.filter(tag => textsOf(variant.required).includes(tag));
  return {
    properties: Object.fromEntries([
      ...[...needed, ...required].map(tag => [tag, { enum: valuesOf(variant, tag) }]),
      ...deciding.filter(tag => !required.includes(tag)).map(tag => [tag, { not: { enum: taken(tag) } }]),
    ]),
    required: [...needed, ...required],
  };
}
