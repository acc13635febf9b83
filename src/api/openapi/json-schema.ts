import * as z from 'zod';
import { isMap, type PlainMap } from '../../config/plain.ts';

/** Who looks at a schema: one who sends a whole object or a part of one, or one who is answered. */
export type View = 'whole' | 'part' | 'answer';

/** Formats of ours are no formats of JSON Schema's: there a duration is `PT30S`. */
const FORMATS: PlainMap = {
  duration: { pattern: '^[0-9]+(ms|s|m|h|d)$', examples: ['30s'] },
  rate: { pattern: '^[0-9]+/(second|minute|hour|day)$', examples: ['2/second'] },
};
/** Marks for those who draw forms; what else our schemas are marked with concerns nobody outside. */
const MARKS: PlainMap = { aliases: 'x-aliases' };
const UNSAID = new Set(['$schema', 'secret', 'secretWhen', 'destination', 'template', 'propertyNames']);

/** The schema as JSON Schema 2020-12, which OpenAPI 3.1 speaks. */
export function jsonSchemaOf(schema: z.core.$ZodType, view: View): PlainMap {
  return asSeen({ ...z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) }, view);
}

function asSeen(schema: PlainMap, view: View): PlainMap {
  const entries = Object.entries(schema).flatMap(([key, value]) => keywordsOf(key, value, view));
  const seen: PlainMap = Object.fromEntries(entries);
  if (schema.secret === true) return { ...seen, format: 'password' };
  if (view === 'answer') return isMap(schema.properties) ? answered(seen, schema.properties) : seen;
  return view === 'part' && isMap(schema.properties) ? partial(seen) : seen;
}

function keywordsOf(key: string, value: unknown, view: View): [string, unknown][] {
  const mark = MARKS[key];
  if (typeof mark === 'string') return [[mark, value]];
  if (UNSAID.has(key) || (key === 'maximum' && value === Number.MAX_SAFE_INTEGER)) return [];
  // Who is answered must expect keys that later versions add.
  if (view === 'answer' && key === 'additionalProperties' && value === false) return [];
  if (key === 'format' && typeof value === 'string' && isMap(FORMATS[value]))
    return Object.entries(FORMATS[value]);
  if (key === 'properties' && isMap(value)) return [[key, mapValues(value, view)]];
  // The items of a list are whole even in a part: lists are replaced.
  const inner = key === 'items' && view === 'part' ? 'whole' : view;
  if ((key === 'items' || key === 'additionalProperties') && isMap(value))
    return [[key, asSeen(value, inner)]];
  if ((key === 'oneOf' || key === 'anyOf' || key === 'allOf') && Array.isArray(value))
    return [[key, value.map(one => (isMap(one) ? asSeen(one, view) : one))]];
  return key === 'default' && view === 'part' ? [] : [[key, value]];
}

const mapValues = (properties: PlainMap, view: View): PlainMap =>
  Object.fromEntries(
    Object.entries(properties).map(([name, one]) => [name, isMap(one) ? asSeen(one, view) : one]),
  );

/** An answer says every default. */
function answered(seen: PlainMap, properties: PlainMap): PlainMap {
  const given = Array.isArray(seen.required) ? seen.required : [];
  const said = Object.entries(properties).flatMap(([name, one]) =>
    isMap(one) && 'default' in one ? [name] : [],
  );
  const required = [...new Set([...given, ...said])];
  return required.length === 0 ? seen : { ...seen, required };
}

/** Nothing of a part is required, and null takes a key away. */
function partial({ required: _, ...seen }: PlainMap): PlainMap {
  const properties = isMap(seen.properties) ? seen.properties : {};
  return {
    ...seen,
    properties: Object.fromEntries(
      Object.entries(properties).map(([name, one]) => [name, { anyOf: [one, { type: 'null' }] }]),
    ),
  };
}
