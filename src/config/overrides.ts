import * as z from 'zod';
import { isMap, type PlainMap, plainCopy } from './plain.ts';
import { didYouMean, type Finding, finding } from './problems.ts';
import { childOf, layers, type Schema, valueAt } from './schema-walk.ts';
import type { Path } from './yaml/places.ts';

/** The process's environment, handed in. */
export type ProcessEnvironment = Readonly<Record<string, string | undefined>>;

/** Values of flags by the path of the setting they set, as in `{ 'api.port': 9001 }`. */
export type SettingFlags = Readonly<Record<string, string | number | undefined>>;

/** A setting that is not taken from the file. */
export interface Overridden {
  readonly path: Path;
  /** The variable or flag that set it. */
  readonly name: string;
}

/** A setting that is not taken from the file, with its value. */
export interface Override extends Overridden {
  readonly value: string | number | boolean;
  readonly source: 'environment' | 'flags';
}

/** Read elsewhere: where the files are, before any file can say so, or what must not stand in one. */
const RESERVED = [
  'HEADGATE_CONFIG',
  'HEADGATE_DATA',
  'HEADGATE_LOG_LEVEL',
  'HEADGATE_ADMIN_PASSWORD',
  'HEADGATE_URL',
  'HEADGATE_TOKEN',
  'HEADGATE_PROFILE',
  'HEADGATE_CLIENT_SECRET',
];

/** The overrides of flags and environment; flags win. A variable that is set but empty counts as not set. */
export function readOverrides(
  schema: Schema,
  environment: ProcessEnvironment,
  flags: SettingFlags,
): Override[] {
  const overrides: Override[] = [];
  for (const { path, schema: scalar } of scalarPaths(schema)) {
    const flag = flags[path.join('.')];
    const name = variableName(path);
    const variable = environment[name];
    if (flag !== undefined)
      overrides.push({
        path,
        value: parseScalar([scalar], String(flag)),
        source: 'flags',
        name: `--${path.at(-1)}`,
      });
    else if (variable !== undefined && variable !== '')
      overrides.push({ path, value: parseScalar([scalar], variable), source: 'environment', name });
  }
  return overrides;
}

/** Overrides of values of the file that would be refused without them, as they are when the flag or variable is gone. */
export function refusedBehind(schema: Schema, written: unknown, overrides: readonly Override[]): Override[] {
  if (overrides.length === 0) return [];
  const schemas = new Map(scalarPaths(schema).map(one => [one.path.join('.'), one.schema]));
  return overrides.filter(({ path }) => {
    const value = valueAt(written, path);
    const scalar = schemas.get(path.join('.'));
    if (value === undefined || value === null || scalar === undefined) return false;
    return !z.safeParse(scalar, value).success;
  });
}

/** Warnings of `HEADGATE_` variables that set nothing. */
export function unknownVariables(schema: Schema, environment: ProcessEnvironment): Finding[] {
  const known = [...RESERVED, ...scalarPaths(schema).map(({ path }) => variableName(path))];
  return Object.keys(environment)
    .filter(name => name.startsWith('HEADGATE_') && !known.includes(name))
    .map(name =>
      finding(
        () => ({ file: 'environment', line: 0, column: 0, path: name }),
        () => `sets nothing, as no setting has this name${didYouMean(name, known)}`,
      ),
    );
}

/** A copy of the file's value with the overrides in their places. */
export function applyOverrides(value: unknown, overrides: readonly Override[]): unknown {
  return overrides.reduce((whole, override) => withValue(whole, override.path, override.value), value);
}

/**
 * Settings as they were sent back, for the file: what flags and environment set is what it was in the file where it was
 * not changed. Otherwise their values would get there, and the masks of their secrets, for which nothing is stored.
 */
export function withoutOverrides(
  sent: PlainMap,
  overridden: readonly Overridden[],
  before: { readonly inFile: unknown; readonly effective: unknown },
): PlainMap {
  const kept = overridden.filter(
    ({ path }) => JSON.stringify(valueAt(sent, path)) === JSON.stringify(valueAt(before.effective, path)),
  );
  const value = kept.reduce<unknown>(
    (whole, { path }) => withValue(whole, path, valueAt(before.inFile, path)),
    sent,
  );
  return isMap(value) ? plainCopy(value) : sent;
}

function withValue(value: unknown, path: Path, replacement: unknown): unknown {
  const [step, ...rest] = path;
  if (step === undefined) return replacement;
  const empty = value === undefined || value === null;
  // What is no map is left for the schema to refuse.
  if (!empty && (typeof value !== 'object' || Array.isArray(value))) return value;
  return { ...value, [step]: withValue(childOf(value, step), rest, replacement) };
}

/** `api.authTokenTTL` is HEADGATE_API_AUTH_TOKEN_TTL. */
export const variableName = (path: Path): string =>
  ['HEADGATE', ...path.map(step => String(step).replace(/([a-z0-9])([A-Z])/g, '$1_$2'))]
    .join('_')
    .toUpperCase();

interface ScalarPath {
  readonly path: readonly string[];
  readonly schema: Schema;
}

/** The settings that hold a single value. */
function scalarPaths(schema: Schema, path: readonly string[] = []): ScalarPath[] {
  const within = layers(schema);
  const map = within.find(layer => layer instanceof z.ZodObject);
  if (map !== undefined)
    return Object.entries(map.shape).flatMap(([key, field]) => scalarPaths(field, [...path, key]));
  const isList = within.some(layer => layer instanceof z.ZodArray || layer instanceof z.ZodRecord);
  return isList ? [] : [{ path, schema }];
}

/** A text as YAML would read it where a number or boolean is wanted; else the text. */
export function parseScalar(schemas: readonly Schema[], text: string): string | number | boolean {
  const within = schemas.flatMap(schema => layers(schema));
  if (within.some(layer => layer instanceof z.ZodString)) return text;
  if (within.some(layer => layer instanceof z.ZodNumber) && /^-?\d+(\.\d+)?$/.test(text)) return Number(text);
  if (within.some(layer => layer instanceof z.ZodBoolean) && /^(true|false)$/.test(text))
    return text === 'true';
  return text;
}
