import * as z from 'zod';
import { parseScalar } from '../overrides.ts';
import { fixedValues, type Schema } from '../schema-walk.ts';

/**
 * A valid value for a setting whose reference cannot be looked up here, so that everything else can be checked and read:
 * the reference itself where it is one, as in messages it is what the file says; also where none of those tried is valid.
 * One name always gives the same.
 */
export function placeholderFor(schemas: readonly Schema[], name: string, reference: string): unknown {
  const label =
    name
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, '-')
      .replace(/^-|-$/g, '')
      .slice(0, 50) || 'secret';
  for (const text of [reference, ...schemas.flatMap(fixedValues).map(String), ...candidates(label)]) {
    const value = parseScalar(schemas, text);
    if (schemas.some(schema => z.safeParse(schema, value).success)) return value;
  }
  return reference;
}

/** Names and addresses of RFC 2606 and RFC 5737, which lead nowhere. */
const candidates = (label: string): string[] => [
  label,
  `https://${label}.invalid`,
  `https://${label}.invalid/`,
  `${label}.invalid`,
  `/${label}`,
  '192.0.2.1',
  '192.0.2.0/24',
  'openid',
  'true',
  '1/second',
  '1s',
  '1m',
  '1h',
  '1d',
  '1',
  '10',
  '1000',
  '1000000',
];
