import { isDeepStrictEqual } from 'node:util';
import * as z from 'zod';
import type { Origin } from './issues.ts';
import type { ConfigProblem } from './problems.ts';
import { asWritten, childOf, layers, mapsFor, type Schema } from './schema-walk.ts';

/** Warns of each setting that is accepted, asks for more than the default, and has no effect yet. */
export function laterWarnings(schema: Schema, value: unknown, origin: Origin): ConfigProblem[] {
  return mapsFor(schema, value).flatMap(map =>
    laterFields(map).flatMap(({ key, values, standard }) => {
      const path = asWritten(schema, [key], value);
      const given = path.reduce<unknown>(childOf, value);
      if (given === undefined || isDeepStrictEqual(given, standard)) return [];
      if (values !== undefined && !values.includes(given)) return [];
      const what = values === undefined ? '' : ` '${String(given)}'`;
      return [
        {
          ...origin.place(path),
          message: `${String(path[0])}${what} is accepted; it has no effect in this version`,
        },
      ];
    }),
  );
}

interface LaterField {
  readonly key: string;
  /** The values without effect; undefined when none has any. */
  readonly values: readonly unknown[] | undefined;
  readonly standard: unknown;
}

const known = new WeakMap<z.ZodObject, readonly LaterField[]>();

function laterFields(map: z.ZodObject): readonly LaterField[] {
  const found = known.get(map) ?? Object.entries(map.shape).flatMap(laterField);
  known.set(map, found);
  return found;
}

function laterField([key, field]: readonly [string, Schema]): LaterField[] {
  const later = z.globalRegistry.get(field)?.later;
  if (later !== true && !Array.isArray(later)) return [];
  return [{ key, values: later === true ? undefined : later, standard: defaultOf(field) }];
}

function defaultOf(field: Schema): unknown {
  const layer = layers(field).find(one => one instanceof z.ZodDefault || one instanceof z.ZodPrefault);
  return layer?.def.defaultValue;
}
