import { isDeepStrictEqual } from 'node:util';
import * as z from 'zod';
import { aliasesOf } from '../lib/aliases.ts';
import type { Origin } from './issues.ts';
import type { ConfigProblem } from './problems.ts';
import { childOf, layers, mapsFor, type Schema } from './schema-walk.ts';

/** Warns of each setting that is accepted, asks for more than the default, and has no effect yet. */
export function laterWarnings(schema: Schema, value: unknown, origin: Origin): ConfigProblem[] {
  return mapsFor(schema, value).flatMap(map =>
    laterFields(map).flatMap(({ names, values, standard }) => {
      const name = names.find(one => childOf(value, one) !== undefined);
      if (name === undefined) return [];
      const given = childOf(value, name);
      if (isDeepStrictEqual(given, standard) || values?.includes(given) === false) return [];
      const what = values === undefined ? name : `${name} '${String(given)}'`;
      return [{ ...origin.place([name]), message: `${what} is accepted; it has no effect in this version` }];
    }),
  );
}

interface LaterField {
  /** Its own and its other ones. */
  readonly names: readonly string[];
  /** The values without effect; undefined when none has any. */
  readonly values: readonly unknown[] | undefined;
  readonly standard: unknown;
}

const known = new WeakMap<z.ZodObject, readonly LaterField[]>();

function laterFields(map: z.ZodObject): readonly LaterField[] {
  const found = known.get(map) ?? readLaterFields(map);
  known.set(map, found);
  return found;
}

function readLaterFields(map: z.ZodObject): readonly LaterField[] {
  const aliases = [...aliasesOf(map)];
  return Object.entries(map.shape).flatMap(([key, field]) => {
    const later = z.globalRegistry.get(field)?.later;
    if (later !== true && !Array.isArray(later)) return [];
    const others = aliases.filter(([, own]) => own === key).map(([name]) => name);
    return [
      { names: [key, ...others], values: later === true ? undefined : later, standard: defaultOf(field) },
    ];
  });
}

function defaultOf(field: Schema): unknown {
  const layer = layers(field).find(one => one instanceof z.ZodDefault || one instanceof z.ZodPrefault);
  return layer?.def.defaultValue;
}
