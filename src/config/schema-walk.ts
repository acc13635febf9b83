import * as z from 'zod';
import { aliasesOf } from '../lib/aliases.ts';
import type { PlainMap } from './plain.ts';
import { isHeadersName, isSecretName, SECRET_FORM } from './secret-names.ts';
import type { Path } from './yaml/places.ts';

export type Schema = z.core.$ZodType;

const known = new WeakMap<Schema, readonly Schema[]>();

/** The schema and all that stand in its place: what it wraps, the sides of a pipe, the options of a union. */
export function layers(schema: Schema): readonly Schema[] {
  const found = known.get(schema) ?? [schema, ...within(schema).flatMap(layers)];
  known.set(schema, found);
  return found;
}

function within(schema: Schema): readonly Schema[] {
  if (
    schema instanceof z.ZodOptional ||
    schema instanceof z.ZodDefault ||
    schema instanceof z.ZodPrefault ||
    schema instanceof z.ZodNullable ||
    schema instanceof z.ZodReadonly
  )
    return [schema.unwrap()];
  if (schema instanceof z.ZodPipe) return [schema.in, schema.out];
  return schema instanceof z.ZodUnion ? schema.options : [];
}

/** The maps a value may be read as: options whose fixed values (`type: webhook`) contradict it are omitted. */
export function mapsFor(schema: Schema, value: unknown): z.ZodObject[] {
  const maps = layers(schema).filter(layer => layer instanceof z.ZodObject);
  if (maps.length < 2) return maps;
  const fitting = maps.filter(map =>
    Object.entries(map.shape).every(([key, field]) => {
      const given = childOf(value, key);
      const allowed = fixedValues(field);
      return given === undefined || allowed.length === 0 || allowed.includes(given);
    }),
  );
  return fitting.length > 0 ? fitting : maps;
}

const fixed = new WeakMap<Schema, readonly unknown[]>();

/** The values a literal or enumeration allows; empty for what allows more. */
export function fixedValues(schema: Schema): readonly unknown[] {
  const found =
    fixed.get(schema) ??
    layers(schema).flatMap((layer): unknown[] => {
      if (layer instanceof z.ZodLiteral) return [...layer.values];
      return layer instanceof z.ZodEnum ? layer.options : [];
    });
  fixed.set(schema, found);
  return found;
}

/** The schema of a map's key, also by another name it has. */
function fieldOf(map: z.ZodObject, step: PropertyKey): Schema | undefined {
  const name = aliasesOf(map).get(String(step)) ?? String(step);
  return Object.hasOwn(map.shape, name) ? map.shape[name] : undefined;
}

/** The schemas one step further down. */
export const childSchemas = (schema: Schema, step: PropertyKey, value: unknown): Schema[] =>
  childrenOf([schema], value)(step);

/** Finds the schemas of each step below a value; which map it is read as is decided once. */
export function childrenOf(schemas: readonly Schema[], value: unknown): (step: PropertyKey) => Schema[] {
  const maps = schemas.flatMap(schema => mapsFor(schema, value));
  const elements = schemas.flatMap(elementsOf);
  const open = schemas.filter(isOpen);
  return step => {
    const own = [...maps.flatMap(map => fieldOf(map, step) ?? []), ...elements];
    return own.length > 0 ? own : open.map(schema => openChild(schema, value, step));
  };
}

/** Any field of an open item, and what is below it: its names say which of them are secrets. */
const openField = z.unknown().meta({ namesSecrets: true, secretWhen: SECRET_FORM });
const openSecret = z.unknown().meta({ namesSecrets: true, secret: true });
const openHeaders = z.unknown().meta({ namesSecrets: true, secretWhen: SECRET_FORM });

/** The names of fields below such a value say which are secrets. */
export const isOpen = (schema: Schema): boolean => z.globalRegistry.get(schema)?.namesSecrets === true;

/** A list is of the kind of its items. A map goes by the names of its fields, one of headers by what headers look like. */
function openChild(schema: Schema, value: unknown, step: PropertyKey): Schema {
  if (Array.isArray(value)) return schema;
  const name = String(step);
  if (schema === openHeaders) {
    const isPair = ['name', 'key'].some(key => childOf(value, key) !== undefined);
    return !isPair || name === 'value' ? openSecret : openField;
  }
  if (isHeadersName(name)) return openHeaders;
  return isSecretName(name) ? openSecret : openField;
}

/** The schema of each item of a list, or of each entry of a map with any keys. */
const elementsOf = (schema: Schema): Schema[] =>
  layers(schema).flatMap(layer => {
    if (layer instanceof z.ZodArray) return [layer.element];
    return layer instanceof z.ZodRecord ? [layer.valueType] : [];
  });

/** The schemas at a path below `schema`, chosen by the value that is being read. */
export function schemasAt(schema: Schema, path: Path, value: unknown): Schema[] {
  let schemas: Schema[] = [schema];
  let current = value;
  for (const step of path) {
    const here = current;
    schemas = schemas.flatMap(candidate => childSchemas(candidate, step, here));
    current = childOf(current, step);
  }
  return schemas;
}

/** True when a value at the path, or one around it, is marked as a secret. */
export function isSecretAt(schema: Schema, path: Path, value: unknown): boolean {
  return Array.from({ length: path.length + 1 }, (_, length) => path.slice(0, length)).some(part => {
    const found = valueAt(value, part);
    return schemasAt(schema, part, value).some(
      candidate => isSecret(candidate) || (typeof found === 'string' && isSecretText(candidate, found)),
    );
  });
}

const isSecret = (schema: Schema): boolean => isMarked(schema, 'secret');

/** The `$` in such a value belongs to a template or an expression. */
export const isTemplate = (schema: Schema): boolean => isMarked(schema, 'template');

/** Such a value decides where secrets beside it are sent. */
export const isDestination = (schema: Schema): boolean => isMarked(schema, 'destination');

/** A change of such a value needs the secrets beside it anew: it decides where they go, or how they are protected. */
export const guardsSecrets = (schema: Schema): boolean =>
  isDestination(schema) || isMarked(schema, 'protection');

/** Such a value is the name of a stored secret. */
export const isSecretNaming = (schema: Schema): boolean => isMarked(schema, 'secretName');

type Mark = 'secret' | 'secretName' | 'template' | 'destination' | 'protection' | 'file';

const isMarked = (schema: Schema, mark: Mark): boolean =>
  layers(schema).some(layer => z.globalRegistry.get(layer)?.[mark] === true);

/** True when a text is a secret there: always, or because of its form. */
export const isSecretText = (schema: Schema, text: string): boolean =>
  isSecret(schema) ||
  layers(schema).some(layer => {
    const pattern = z.globalRegistry.get(layer)?.secretWhen;
    return typeof pattern === 'string' && new RegExp(pattern).test(text);
  });

/** Finds out whether a value of a schema may hold one of which this is true: most values need no walk. */
function bearing(isOne: (layer: Schema) => boolean): (schema: Schema) => boolean {
  const known = new WeakMap<Schema, boolean>();
  function bears(schema: Schema): boolean {
    const before = known.get(schema);
    if (before !== undefined) return before;
    // A schema that holds itself is asked again within: the rest of it decides.
    known.set(schema, false);
    const found = layers(schema).some(
      layer =>
        isOne(layer) ||
        (layer instanceof z.ZodObject && Object.values<Schema>(layer.shape).some(bears)) ||
        elementsOf(layer).some(bears),
    );
    known.set(schema, found);
    return found;
  }
  return bears;
}

/** True when there may be a secret in a value of the schema. */
export const bearsSecret = bearing(
  layer => isSecret(layer) || isOpen(layer) || z.globalRegistry.get(layer)?.secretWhen !== undefined,
);

const bearsFile = bearing(layer => isMarked(layer, 'file'));

/** Paths of the values that name files, or lists of them, by the marks in the schema. */
export function filePaths(schemas: readonly Schema[], value: unknown, path: Path = []): Path[] {
  if (value === null || value === undefined) return [];
  if (schemas.some(schema => isMarked(schema, 'file'))) return [path];
  if (typeof value !== 'object' || !schemas.some(bearsFile)) return [];
  const childAt = childrenOf(schemas, value);
  const steps = Array.isArray(value) ? [...value.keys()] : Object.keys(value);
  return steps.flatMap(step => filePaths(childAt(step), childOf(value, step), [...path, step]));
}

/** The path as it stands in the value, where keys may be written by their other names. */
export function asWritten(schema: Schema, path: Path, value: unknown): Path {
  const written: PropertyKey[] = [];
  let schemas: Schema[] = [schema];
  let current = value;
  for (const step of path) {
    const here = current;
    const name = childOf(here, step) === undefined ? otherName(schemas, step, here) : step;
    written.push(name);
    schemas = schemas.flatMap(candidate => childSchemas(candidate, name, here));
    current = childOf(here, name);
  }
  return written;
}

function otherName(schemas: readonly Schema[], step: PropertyKey, value: unknown): PropertyKey {
  for (const map of schemas.flatMap(schema => mapsFor(schema, value)))
    for (const [name, key] of aliasesOf(map))
      if (key === step && childOf(value, name) !== undefined) return name;
  return step;
}

/** The own entry of a plain value; undefined where there is none. */
export function childOf(value: unknown, step: PropertyKey): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined;
  return Reflect.get(value, step);
}

export const valueAt = (value: unknown, path: Path): unknown => path.reduce(childOf, value);

/**
 * The item of the list `now`, which is not changed afterwards, with the id or name of the one at `step` of `list`, or else
 * the one at that place; the entry of a map.
 */
export function counterpart(now: unknown, list: unknown, step: PropertyKey): unknown {
  const name = itemName(childOf(list, step));
  if (!Array.isArray(now) || name === undefined) return childOf(now, step);
  const items = itemsByName.get(now) ?? new Map([...now].reverse().map(item => [itemName(item), item]));
  itemsByName.set(now, items);
  return items.get(name);
}

/** The first item of each name, for lists that do not change. */
const itemsByName = new WeakMap<readonly unknown[], ReadonlyMap<unknown, unknown>>();

export const itemName = (item: unknown): unknown => childOf(item, 'id') ?? childOf(item, 'name');

/** The key's own name, then the others it may be written by. */
export function namesOf(schemas: readonly Schema[], map: PlainMap, key: string): string[] {
  const pairs = schemas.flatMap(schema => mapsFor(schema, map)).flatMap(one => [...aliasesOf(one)]);
  const own = pairs.find(([name]) => name === key)?.[1] ?? key;
  return [own, ...pairs.filter(([, name]) => name === own).map(([name]) => name)];
}

/** The value under the first of these names that has one. */
export const firstOf = (map: unknown, names: readonly string[]): unknown =>
  names.map(name => childOf(map, name)).find(value => value !== undefined);
