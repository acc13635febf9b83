import * as z from 'zod';
import { isMap, type PlainMap } from '../../config/plain.ts';
import { mapsFor, type Schema } from '../../config/schema-walk.ts';
import { AppError } from '../../lib/errors.ts';

/** The body of a write of one item; what it may hold is its type's to say. */
export const itemBody = z.custom<PlainMap>(isMap, 'must be a JSON object');

const id = z.string().max(512);
const ifMatch = z.string().optional();

/** Input of the verbs that change and remove one item. */
export const itemUpdate = z.object({ id, body: itemBody, ifMatch });
export const itemRemoval = z.object({ id, ifMatch });

/** What only reads answer; clients that send back what they read do not mean to change it. */
const READ_ONLY: readonly string[] = ['status', 'notifications', 'count', 'headgate'];

export const writable = (body: PlainMap): PlainMap =>
  Object.fromEntries(Object.entries(body).filter(([key]) => !READ_ONLY.includes(key)));

/** Whether a body says all that an item needs, so that it stands for the whole of it. */
export function isWhole(body: PlainMap, schema: Schema | undefined): boolean {
  const [map] = schema === undefined ? [] : mapsFor(schema, body);
  if (map === undefined) return true;
  return Object.entries(map.shape)
    .filter(([, field]) => !z.safeParse(field, undefined).success)
    .every(([key]) => body[key] !== undefined && body[key] !== null);
}

/** Throws `invalid-request`, naming the key. */
export function refuse(path: string, message: string): never {
  throw new AppError('invalid-request', `${path}: ${message}`, { problems: [{ path, message }] });
}
