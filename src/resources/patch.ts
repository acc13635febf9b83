import { isDeepStrictEqual } from 'node:util';
import * as z from 'zod';
import { type Overridden, withoutOverrides } from '../config/overrides.ts';
import { isMap, type PlainMap } from '../config/plain.ts';
import { childOf, childrenOf, childSchemas, mapsFor, type Schema } from '../config/schema-walk.ts';
import { aliasesOf } from '../lib/aliases.ts';

/** JSON Merge Patch (RFC 7396): maps are merged, null removes, everything else replaces. */
export function mergePatch(target: unknown, patch: PlainMap): PlainMap {
  const merged = new Map(Object.entries(isMap(target) ? target : {}));
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) merged.delete(key);
    else merged.set(key, isMap(value) ? mergePatch(merged.get(key), value) : value);
  }
  return Object.fromEntries(merged);
}

/** An item before a write: undefined where there was nothing. */
export interface PreviousForm {
  /** As the file has it. */
  readonly inFile: unknown;
  /** The effective content: every default said. */
  readonly effective: unknown;
}

/** Settings with a patch merged into them, for the file, which does not hold what flags and environment set. */
export const mergeSettings = (
  before: PreviousForm,
  patch: PlainMap,
  overridden: readonly Overridden[],
): PlainMap => withoutOverrides(mergePatch(before.effective, patch), overridden, before);

/**
 * A value in the form its file should hold. What still says the same keeps the form it has there, or its absence; a new key is
 * written only when it says something else than its default. Names stay those the file uses.
 */
export function toFileForm(schema: Schema, value: PlainMap, before: PreviousForm): PlainMap {
  return leanMap([schema], value, before);
}

function leanMap(schemas: readonly Schema[], value: PlainMap, before: PreviousForm): PlainMap {
  const entries = Object.entries(value).flatMap(([key, entry]): [string, unknown][] => {
    const name = nameInFile(schemas, key, value, before.inFile);
    const fields = schemas.flatMap(schema => childSchemas(schema, key, value));
    const inFile = childOf(before.inFile, name);
    const effective = childOf(before.effective, key);
    if (inFile === undefined && canBeOmitted(fields, entry, effective)) return [];
    return [[name, lean(fields, entry, { inFile, effective })]];
  });
  return Object.fromEntries(entries);
}

function lean(schemas: readonly Schema[], value: unknown, before: PreviousForm): unknown {
  const { inFile, effective } = before;
  if (inFile !== undefined && [inFile, effective].some(same => isDeepStrictEqual(value, same))) return inFile;
  if (isMap(value)) return leanMap(schemas, value, before);
  return Array.isArray(value) ? leanList(schemas, value, before) : value;
}

function leanList(schemas: readonly Schema[], list: readonly unknown[], before: PreviousForm): unknown[] {
  const known: readonly unknown[] = Array.isArray(before.effective) ? before.effective : [];
  const places = placesBefore(list, known);
  // Found once: a list may have very many items.
  const children = schemas.map(schema => childrenOf([schema], list));
  return list.map((item, index) => {
    const at = places[index] ?? -1;
    const elements = children.flatMap(childAt => childAt(index));
    return lean(elements, item, { inFile: childOf(before.inFile, at), effective: known[at] });
  });
}

/** Where each item stood before: by what it is called, or else by place where the list kept its length. */
function placesBefore(list: readonly unknown[], known: readonly unknown[]): (number | undefined)[] {
  const names = known.map(nameOf);
  const isNamed = [...names, ...list.map(nameOf)].every(name => name !== undefined);
  if (isNamed) return list.map(item => names.indexOf(nameOf(item)));
  return list.map((_, index) => (list.length === known.length ? index : undefined));
}

function nameOf(item: unknown): string | undefined {
  const name = childOf(item, 'id') ?? childOf(item, 'name');
  return typeof name === 'string' ? name : undefined;
}

/**
 * True when a key that is not in the file says only what holds without it. That may be another value than the default,
 * where the operator of the service decides it.
 */
function canBeOmitted(fields: readonly Schema[], value: unknown, effective: unknown): boolean {
  return fields.some(field => {
    const left = z.safeParse(field, undefined);
    if (!left.success) return false;
    if (isDeepStrictEqual(value, effective)) return true;
    const said = z.safeParse(field, value);
    if (!said.success || left.data === undefined || !isSame(said.data, left.data)) return false;
    if (effective === undefined || isSame(effective, left.data)) return true;
    return isMap(value) && isEmpty(leanMap([field], value, { inFile: undefined, effective }));
  });
}

const isEmpty = (map: PlainMap): boolean => Object.keys(map).length === 0;

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

/** The key, or the other name the file has it by. A value that says both keeps both, to be refused as it is read. */
function nameInFile(schemas: readonly Schema[], key: string, value: PlainMap, inFile: unknown): string {
  if (childOf(inFile, key) !== undefined) return key;
  const others = schemas.flatMap(schema => mapsFor(schema, value)).flatMap(map => [...aliasesOf(map)]);
  const isIt = ([name, own]: readonly [string, string]): boolean =>
    own === key && childOf(inFile, name) !== undefined && childOf(value, name) === undefined;
  return others.find(isIt)?.[0] ?? key;
}
