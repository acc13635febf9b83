import { isDeepStrictEqual } from 'node:util';
import * as z from 'zod';

/** Other names a map's keys may be written by, each with the key it stands for. */
export type Aliases = ReadonlyMap<string, string>;

const aliasesByShape = new WeakMap<object, Aliases>();

/** A field names its other names by `.meta({ aliases: ['url'] })`. */
export function aliasesOf({ shape }: z.ZodObject): Aliases {
  const found = aliasesByShape.get(shape) ?? new Map(Object.entries(shape).flatMap(namesOf));
  aliasesByShape.set(shape, found);
  return found;
}

function namesOf([key, field]: readonly [string, z.core.$ZodType]): [string, string][] {
  const names = z.globalRegistry.get(field)?.aliases;
  return Array.isArray(names) ? names.map(name => [String(name), key]) : [];
}

/**
 * A schema that reads a key by its other names as well. Where both are given the other name is left, and refused as
 * unknown. `complete` adds what other keys imply, under own names.
 */
export function withAliases<Fields extends z.ZodObject>(
  fields: Fields,
  complete: (value: object) => object = value => value,
) {
  const aliases = aliasesOf(fields);
  return z.preprocess(value => (isMap(value) ? complete(renameKeys(value, aliases)) : value), fields);
}

/**
 * Renames the keys of what a client sent to their own names. A client that was shown a setting under both names sends both back: the
 * one it changed counts. When it changed both, the other name is left, and refused as unknown. `shown` holds what it may
 * have read, under own names; undefined for what is new.
 */
export function resolveAliases(schema: z.core.$ZodType, sent: object, shown: object | undefined): object {
  const fields = schema instanceof z.ZodPipe ? schema.out : schema;
  if (!(fields instanceof z.ZodObject)) return sent;
  const kept = new Map<string, unknown>(Object.entries(sent));
  for (const [name, key] of aliasesOf(fields)) {
    if (!kept.has(name) || !kept.has(key)) continue;
    const isEcho = (one: string): boolean =>
      shown !== undefined && isDeepStrictEqual(kept.get(one), Reflect.get(shown, key));
    if (isEcho(name) || isDeepStrictEqual(kept.get(name), kept.get(key))) kept.delete(name);
    else if (isEcho(key)) kept.delete(key);
  }
  return renameKeys(Object.fromEntries(kept), aliasesOf(fields));
}

/** Keys stay in the order they stand; a name whose key is given already is left. */
function renameKeys(value: object, aliases: Aliases): object {
  if (!Object.keys(value).some(key => aliases.has(key))) return value;
  const taken = new Set(Object.keys(value).filter(key => !aliases.has(key)));
  return Object.fromEntries(
    Object.entries(value).map(([key, entry]) => {
      const name = aliases.get(key);
      if (name === undefined || taken.has(name)) return [key, entry];
      taken.add(name);
      return [name, entry];
    }),
  );
}

const isMap = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
