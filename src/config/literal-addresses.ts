import { isIP } from 'node:net';
import type { AddressGuard } from '../lib/address-guard.ts';
import { Secret } from '../lib/secret.ts';
import { findTargetType } from '../targets/index.ts';
import type { CommonSettings } from '../targets/target.ts';
import type { Finding } from './finding.ts';
import { asWritten, childOf, isDestination, mapsFor, type Schema } from './schema-walk.ts';

/** Addresses in a target's settings that nothing will be sent to. Names are judged when they are looked up. */
export function forbiddenAddresses(settings: CommonSettings, raw: object, guard: AddressGuard): Finding[] {
  const schema = findTargetType(settings.type)?.schema;
  if (schema === undefined) return [];
  return destinationsOf(schema).flatMap(key => {
    const value = childOf(settings, key);
    const address = addressIn(value instanceof Secret ? value.reveal() : value);
    const refusal = address === undefined ? undefined : guard.refusal(address);
    if (refusal === undefined) return [];
    const message = `${address} is ${refusal}; nothing is sent to it`;
    return [{ path: asWritten(schema, [key], raw), message }];
  });
}

const known = new WeakMap<Schema, readonly string[]>();

/** The settings that decide where a type sends. */
function destinationsOf(schema: Schema): readonly string[] {
  const found =
    known.get(schema) ??
    mapsFor(schema, {}).flatMap(map =>
      Object.entries(map.shape).flatMap(([key, field]) => (isDestination(field) ? [key] : [])),
    );
  known.set(schema, found);
  return found;
}

/** The address that a host or an http address consists of; undefined for a name. */
function addressIn(value: unknown): string | undefined {
  if (typeof value !== 'string' || isPlainName(value)) return undefined;
  const host = (URL.canParse(value) ? new URL(value).hostname : value).replace(/^\[|\]$/g, '');
  return isIP(host) === 0 ? undefined : host;
}

/** Most hosts begin with a letter and stand in an address of plain characters: that is a name, however it is read. */
const isPlainName = (text: string): boolean => /^https?:\/\/[g-z][\w.-]*(?::\d*)?(?:[/?#]|$)/i.test(text);
