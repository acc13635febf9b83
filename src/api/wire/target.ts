import { isDeepStrictEqual } from 'node:util';
import { ownNames } from '../../lib/aliases.ts';
import { findTargetType } from '../../targets/index.ts';
import type { CommonSettings } from '../../targets/target.ts';

/** Names by which public clients of the family read a setting, beside its own name. */
const READ_AS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  slack: { url: 'slackUrl' },
  smtp: { username: 'smtpUsername', password: 'smtpPassword' },
  router: { rules: 'routes' },
  sns: { allowlist: 'allowList' },
};

const othersOf = (type: unknown): [string, string][] =>
  typeof type === 'string' && Object.hasOwn(READ_AS, type) ? Object.entries(READ_AS[type] ?? {}) : [];

/** A target as the API answers it: effective settings, secrets masked when they are serialised. */
export function wireTarget(settings: CommonSettings): object {
  const others = othersOf(settings.type).map(([name, key]) => [name, Reflect.get(settings, key)]);
  return { ...settings, ...Object.fromEntries(others) };
}

/**
 * A body as a file would say it, under the settings' own names. A client that read both names of a setting sends both
 * back: the one it changed counts. When it changed both the other name is left, and refused as unknown.
 * `present` is what the client may have read; undefined for a target that is new.
 */
export function sentTarget(sent: object, present: CommonSettings | undefined): object {
  const shown: object = present === undefined ? {} : JSON.parse(JSON.stringify(wireTarget(present)));
  const type: unknown = Reflect.get(sent, 'type') ?? present?.type;
  const kept = new Map<string, unknown>(Object.entries(sent));
  for (const [name, key] of othersOf(type)) {
    if (!kept.has(name) || !kept.has(key)) continue;
    const isEcho = (one: string): boolean => isDeepStrictEqual(kept.get(one), Reflect.get(shown, one));
    if (isEcho(name) || isDeepStrictEqual(kept.get(name), kept.get(key))) kept.delete(name);
    else if (isEcho(key)) kept.delete(key);
  }
  const body = Object.fromEntries(kept);
  const schema = typeof type === 'string' ? findTargetType(type)?.schema : undefined;
  const named = schema === undefined ? body : ownNames(schema, body);
  return typeof named === 'object' && named !== null ? named : body;
}
