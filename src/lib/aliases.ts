import * as z from 'zod';

/** Other names a map's keys may be written by, each with the key it stands for. */
export type Aliases = ReadonlyMap<string, string>;

const known = new WeakMap<object, Aliases>();

/** A field names its other names by `.meta({ aliases: ['url'] })`. */
export function aliasesOf({ shape }: z.ZodObject): Aliases {
  const found = known.get(shape) ?? new Map(Object.entries(shape).flatMap(namesOf));
  known.set(shape, found);
  return found;
}

function namesOf([key, field]: readonly [string, z.core.$ZodType]): [string, string][] {
  const names = z.globalRegistry.get(field)?.aliases;
  return Array.isArray(names) ? names.map(name => [String(name), key]) : [];
}

/**
 * A schema that reads a key by its other names as well. Where both are given the other name is left, and refused as
 * unknown.
 */
export function withAliases<Fields extends z.ZodObject>(fields: Fields) {
  const aliases = aliasesOf(fields);
  return z.preprocess(value => canonical(value, aliases), fields);
}

/** A value of `withAliases` under its keys' own names, as settings are told apart and merged. */
export function ownNames(schema: z.core.$ZodType, value: unknown): unknown {
  const fields = schema instanceof z.ZodPipe ? schema.out : schema;
  return fields instanceof z.ZodObject ? canonical(value, aliasesOf(fields)) : value;
}

/** Keys stay in the order they stand; what is no map comes back as it is. */
function canonical(value: unknown, aliases: Aliases): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
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
