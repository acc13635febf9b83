import { isDeepStrictEqual } from 'node:util';
import * as z from 'zod';
import { type Overridden, withoutOverrides } from '../config/overrides.ts';
import { isMap, type PlainMap } from '../config/plain.ts';
import { childOf, childrenOf, childSchemas, mapsFor, type Schema } from '../config/schema-walk.ts';
import { aliasesOf } from '../lib/aliases.ts';
import { AppError, type Problem } from '../lib/errors.ts';

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

/** Keys of answers that change by themselves; clients that send back what they read do not mean to change them. */
export const ALWAYS_IGNORED: readonly string[] = [
  'status',
  'notifications',
  'count',
  'updatedAt',
  'lastDataAt',
];

interface ReadForm {
  /** The body of a change. */
  readonly schema: Schema | undefined;
  /** What a read answers now. */
  readonly now: object;
  /** Keys of the answer that change by themselves, beside those of every answer. */
  readonly ignored?: readonly string[] | undefined;
}

/**
 * A change without what it sends back as it was read, which it leaves as it is. Keys that are needed stay, and so do
 * those that no answer has. Throws `invalid-request` for a key that only answers have with another value.
 */
function withoutReadForm(body: unknown, { schema, now, ignored = [] }: ReadForm): unknown {
  if (!isMap(body)) return body;
  const [map] = schema === undefined ? [] : mapsFor(schema, body);
  const fields = map?.shape ?? {};
  const read = new Map(Object.entries(now));
  const kept: [string, unknown][] = [];
  const problems: Problem[] = [];
  for (const [key, value] of Object.entries(body)) {
    const field = Object.hasOwn(fields, key) ? fields[key] : undefined;
    const isSame = read.has(key) && isDeepStrictEqual(value, read.get(key));
    if (field !== undefined) {
      if (!isSame || !z.safeParse(field, undefined).success) kept.push([key, value]);
    } else if (ALWAYS_IGNORED.includes(key) || ignored.includes(key) || isSame) continue;
    else if (read.has(key))
      problems.push({ path: key, message: 'cannot be changed; send it as it was read, or leave it out' });
    else kept.push([key, value]);
  }
  const [first] = problems;
  if (first !== undefined)
    throw new AppError('invalid-request', `${first.path}: ${first.message}`, { problems });
  return Object.fromEntries(kept);
}

/**
 * The input of a change without what its body sends back. What is not there is left to the verb, which looks at the body
 * first.
 */
export async function takenBack(
  input: unknown,
  { read, ...form }: Omit<ReadForm, 'now'> & { readonly read: (input: unknown) => Promise<object> },
): Promise<unknown> {
  if (!isMap(input)) return input;
  try {
    return { ...input, body: withoutReadForm(input.body, { ...form, now: await read(input) }) };
  } catch (error) {
    if (error instanceof AppError && error.code === 'not-found') return input;
    throw error;
  }
}
