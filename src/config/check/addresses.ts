import { isIP } from 'node:net';
import { type AddressGuard, type AddressPolicy, createAddressGuard } from '../../lib/http/guard.ts';
import { Secret } from '../../lib/secret.ts';
import { findTargetType } from '../../targets/index.ts';
import type { CommonSettings } from '../../targets/target.ts';
import type { ItemFinding } from '../problems.ts';
import { asWritten, childOf, isDestination, mapsFor, type Schema } from '../schema-walk.ts';
import type { Settings } from '../settings.ts';

/** Addresses in a target's settings that nothing will be sent to. Names are judged when they are looked up. */
export function forbiddenAddresses(
  settings: CommonSettings,
  raw: object,
  guard: AddressGuard,
): ItemFinding[] {
  const schema = findTargetType(settings.type)?.schema;
  if (schema === undefined) return [];
  return destinationsOf(schema).flatMap(key => {
    const value = childOf(settings, key);
    const refusal = refusalOf(value instanceof Secret ? value.reveal() : value, guard);
    return refusal === undefined
      ? []
      : [{ path: asWritten(schema, [key], raw), message: `${refusal}; nothing is sent to it` }];
  });
}

/** The https origins that a target's settings name literally. */
export function encryptedOrigins(settings: CommonSettings): string[] {
  const schema = findTargetType(settings.type)?.schema;
  return (schema === undefined ? [] : destinationsOf(schema)).flatMap(key => {
    const value = childOf(settings, key);
    return encryptedOrigin(value instanceof Secret ? value.reveal() : value) ?? [];
  });
}

/** The origin of an https address; undefined for anything else. */
export function encryptedOrigin(value: unknown): string | undefined {
  if (typeof value !== 'string' || !URL.canParse(value)) return undefined;
  const { protocol, origin } = new URL(value);
  return protocol === 'https:' ? origin : undefined;
}

/** Addresses of pipelines and of the identity provider that nothing will connect to, as above. */
export function forbiddenSettings({ auth, pipelines }: Settings, policy: AddressPolicy): ItemFinding[] {
  const guard = createAddressGuard(policy);
  const asked = [
    { path: ['auth', 'openid', 'issuer'], value: auth.openid?.issuer },
    ...pipelines.map((pipeline, index) => ({
      path: ['pipelines', index, 'url'],
      value: childOf(pipeline, 'url'),
    })),
  ];
  return asked.flatMap(({ path, value }) => {
    const refusal = refusalOf(value, guard);
    return refusal === undefined ? [] : [{ path, message: `${refusal}; nothing is asked of it` }];
  });
}

/** The address and why nothing may be connected to it; undefined for an allowed address, and for a name. */
function refusalOf(value: unknown, guard: AddressGuard): string | undefined {
  const address = addressIn(value);
  const refusal = address === undefined ? undefined : guard.refusal(address);
  return refusal === undefined ? undefined : `${address} is ${refusal}`;
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

/**
 * The address that a host or an http address consists of; undefined for a name. A host that stands alone is read as in an
 * address: the system, too, takes `0x7f.1` and 2130706433 for 127.0.0.1.
 */
function addressIn(value: unknown): string | undefined {
  if (typeof value !== 'string' || isPlainName(value)) return undefined;
  const whole = [value, `http://${value}/`].find(text => URL.canParse(text));
  const host = (whole === undefined ? value : new URL(whole).hostname).replace(/^\[|\]$/g, '');
  return isIP(host) === 0 ? undefined : host;
}

/** Most hosts begin with a letter and stand in an address of plain characters: that is a name, however it is read. */
const isPlainName = (text: string): boolean => /^https?:\/\/[g-z][\w.-]*(?::\d*)?(?:[/?#]|$)/i.test(text);
