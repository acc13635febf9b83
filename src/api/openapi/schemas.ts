import * as z from 'zod';
import { isMap, type PlainMap } from '../../config/plain.ts';
import type { Shape } from '../operation.ts';

/** The named schemas of a document, collected while its operations are described. */
export interface SchemaComponents {
  /** Describes the shape unless it is described already, and refers to it. */
  refer(shape: Shape, view: SchemaView): PlainMap;
  /** By name, in alphabetical order. */
  all(): PlainMap;
}

export function createSchemaComponents(): SchemaComponents {
  const schemas = new Map<string, PlainMap>();
  /** Schemas by name, to refuse two shapes under one name. */
  const origins = new Map<string, Shape['schema']>();

  function add(name: string, shape: Shape, make: () => PlainMap): PlainMap {
    const known = origins.get(name);
    if (known !== undefined && known !== shape.schema)
      throw new Error(`two different shapes are called ${name}`);
    if (known === undefined) {
      origins.set(name, shape.schema);
      schemas.set(name, make());
    }
    return { $ref: `#/components/schemas/${name}` };
  }

  function refer(shape: Shape, view: SchemaView): PlainMap {
    const { variants: kinds, union, alternatives } = shape;
    if (alternatives !== undefined) return { anyOf: alternatives.map(one => refer(one, view)) };
    if (union !== undefined) return referUnion(shape, union, view);
    if (kinds === undefined) return add(nameOf(shape, view), shape, () => described(shape, view));
    const references = kinds.map(kind => refer(kind, view));
    return add(nameOf(shape, view), shape, () =>
      // A part may omit its type, so no discriminator distinguishes the variants.
      view === 'part'
        ? { anyOf: references }
        : { oneOf: references, discriminator: { propertyName: 'type', mapping: mappingOf(kinds, view) } },
    );
  }

  /** Each option is what all have in common, with the content that belongs to its value of the key. */
  function referUnion(shape: Shape, { key, content, options }: Union, view: SchemaView): PlainMap {
    const contents = options.map(option => refer(option.content, view));
    const name = nameOf(shape, view);
    // A part may omit the key, so that nothing says which content it has.
    if (view === 'part')
      return add(name, shape, () =>
        withProperty(described(shape, view), content, { anyOf: [...contents, { type: 'null' }] }),
      );
    const common = { ...shape, name: `Common${shape.name}`, sentAs: `Common${shape.sentAs ?? shape.name}` };
    const base = add(nameOf(common, view), shape, () => withProperty(described(shape, view), content, {}));
    const references = options.map((option, index) => {
      const needed = view === 'answer' || !z.safeParse(option.content.schema, {}).success;
      return add(nameOf(optionShape(shape, option), view), option.content, () => ({
        allOf: [
          base,
          {
            properties: { [key]: { type: 'string', const: option.value }, [content]: contents[index] },
            required: [key, ...(needed ? [content] : [])],
          },
        ],
      }));
    });
    const mapping = Object.fromEntries(options.map(({ value }, index) => [value, references[index]?.$ref]));
    return add(name, shape, () => ({ oneOf: references, discriminator: { propertyName: key, mapping } }));
  }

  return {
    refer,
    all: () => Object.fromEntries([...schemas].sort(([one], [other]) => (one < other ? -1 : 1))),
  };
}

type Union = NonNullable<Shape['union']>;

const optionShape = ({ name, sentAs = name }: Shape, option: Union['options'][number]): Shape => ({
  ...option.content,
  name: `${option.name}${name}`,
  sentAs: `${option.name}${sentAs}`,
});

function withProperty(schema: PlainMap, name: string, value: PlainMap): PlainMap {
  const properties = isMap(schema.properties) ? schema.properties : {};
  const { description } = isMap(properties[name]) ? properties[name] : {};
  const described = { ...(description !== undefined && { description }), ...value };
  return { ...schema, properties: { ...properties, [name]: described } };
}

/** A shape that is sent differs from the same shape as an answer, which requires every default. */
function nameOf({ name, sentAs = name }: Shape, view: SchemaView): string {
  if (view === 'answer') return name;
  return view === 'part' ? `${name}Change` : sentAs;
}

const mappingOf = (kinds: readonly Shape[], view: SchemaView): PlainMap =>
  Object.fromEntries(kinds.map(kind => [typeOf(kind), `#/components/schemas/${nameOf(kind, view)}`]));

function typeOf({ name, schema }: Shape): string {
  const { properties } = jsonSchemaOf(schema, 'whole');
  const type = isMap(properties) ? properties.type : undefined;
  if (isMap(type) && typeof type.const === 'string') return type.const;
  throw new Error(`${name} does not say its type`);
}

function described(
  { schema, isAsWritten, aliases: also = {}, answerFields: adds = {} }: Shape,
  view: SchemaView,
): PlainMap {
  const plain = jsonSchemaOf(schema, view === 'answer' && isAsWritten === true ? 'written' : view);
  if (view !== 'answer' || !isMap(plain.properties)) return plain;
  const { properties } = plain;
  const others = Object.entries(also).map(([name, key]) => {
    const same = isMap(properties[key]) ? properties[key] : {};
    return [name, { ...same, description: `The same as ${key}, for Cribl-compatible clients.` }];
  });
  const added = Object.entries(adds).map(([name, own]) => [name, jsonSchemaOf(own, view)]);
  return { ...plain, properties: { ...properties, ...Object.fromEntries([...others, ...added]) } };
}

/** A schema for a whole object that is sent, for a part of one, for an answer, or for what an answer has as it was written. */
export type SchemaView = 'whole' | 'part' | 'answer' | 'written';

/** Our formats are not those of JSON Schema, whose duration is `PT30S`. */
const FORMATS: PlainMap = {
  duration: { pattern: '^([0-9]+(\\.[0-9]+)?(ms|s|m|h|d))+$', examples: ['30s', '1h30m'] },
  'data-volume': {
    pattern: '^[0-9]{1,15}\\s*([Bb]|[KMGTPEZYkmgtpezy][Bb]?|[Ee][Vv][Ee][Nn][Tt][Ss]?)?$',
    examples: ['500', '10MB', '10000 events'],
  },
  rate: { pattern: '^[0-9]+/(second|minute|hour|day)$', examples: ['2/second'] },
};
/** Marks for programs that draw forms; other marks of our schemas are internal. */
const MARKS: PlainMap = { aliases: 'x-aliases' };
const INTERNAL_KEYWORDS = new Set([
  '$schema',
  'secret',
  'secretWhen',
  'secretName',
  'namesSecrets',
  'destination',
  'places',
  'protection',
  'file',
  'template',
  'propertyNames',
]);

/** The schema as JSON Schema 2020-12, which OpenAPI 3.1 speaks. */
export function jsonSchemaOf(schema: z.core.$ZodType, view: SchemaView): PlainMap {
  return schemaSeenAs({ ...z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) }, view);
}

function schemaSeenAs(schema: PlainMap, view: SchemaView): PlainMap {
  const entries = Object.entries(schema).flatMap(([key, value]) => keywordsOf(key, value, view));
  const seen: PlainMap = Object.fromEntries(entries);
  if (schema.secret === true) return { ...seen, format: 'password' };
  if (view === 'answer') return isMap(schema.properties) ? answered(seen, schema.properties) : seen;
  return view === 'part' && isMap(schema.properties) ? partial(seen) : seen;
}

function keywordsOf(key: string, value: unknown, view: SchemaView): [string, unknown][] {
  const mark = MARKS[key];
  if (typeof mark === 'string') return [[mark, value]];
  if (INTERNAL_KEYWORDS.has(key) || (key === 'maximum' && value === Number.MAX_SAFE_INTEGER)) return [];
  // Clients must expect keys that later versions add.
  const isAnswer = view === 'answer' || view === 'written';
  if (isAnswer && key === 'additionalProperties' && value === false) return [];
  if (key === 'format' && typeof value === 'string' && isMap(FORMATS[value]))
    return Object.entries(FORMATS[value]);
  if (key === 'properties' && isMap(value)) return [[key, mapValues(value, view)]];
  // Items of a list are whole even in a part, as lists are replaced.
  const inner = key === 'items' && view === 'part' ? 'whole' : view;
  if ((key === 'items' || key === 'additionalProperties') && isMap(value))
    return [[key, schemaSeenAs(value, inner)]];
  if ((key === 'oneOf' || key === 'anyOf' || key === 'allOf') && Array.isArray(value))
    return [[key, value.map(one => (isMap(one) ? schemaSeenAs(one, view) : one))]];
  // An answer has its own values, and the default of a map may lack what defaults fill in within it.
  const isUseless = view === 'part' || (isAnswer && isMap(value));
  return key === 'default' && isUseless ? [] : [[key, value]];
}

const mapValues = (properties: PlainMap, view: SchemaView): PlainMap =>
  Object.fromEntries(
    Object.entries(properties).map(([name, one]) => [name, isMap(one) ? schemaSeenAs(one, view) : one]),
  );

/** An answer has every default. */
function answered(seen: PlainMap, properties: PlainMap): PlainMap {
  const given = Array.isArray(seen.required) ? seen.required : [];
  const said = Object.entries(properties).flatMap(([name, one]) =>
    isMap(one) && 'default' in one ? [name] : [],
  );
  const required = [...new Set([...given, ...said])];
  return required.length === 0 ? seen : { ...seen, required };
}

/** Nothing of a part is required, and null removes a key. */
function partial({ required: _, ...seen }: PlainMap): PlainMap {
  const properties = isMap(seen.properties) ? seen.properties : {};
  return {
    ...seen,
    properties: Object.fromEntries(
      Object.entries(properties).map(([name, one]) => [name, { anyOf: [one, { type: 'null' }] }]),
    ),
  };
}
