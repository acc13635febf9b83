import { underOwnNames } from '../../lib/aliases.ts';
import { findTargetType } from '../../targets/index.ts';
import type { CommonSettings } from '../../targets/target.ts';

/** Names by which public clients of the family read a setting, beside its own name. */
const READ_AS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  slack: { url: 'slackUrl' },
  smtp: { username: 'smtpUsername', password: 'smtpPassword' },
  router: { rules: 'routes' },
  sns: { allowlist: 'allowList' },
};

/** A target as the API answers it: effective settings, secrets masked when they are serialised. */
export function wireTarget(settings: CommonSettings): object {
  const others = Object.entries(READ_AS[settings.type] ?? {}).map(([name, key]) => [
    name,
    Reflect.get(settings, key),
  ]);
  return { ...settings, ...Object.fromEntries(others) };
}

/**
 * A body under the settings' own names, as `underOwnNames` says. `present` is what the client may have read; undefined
 * for a target that is new.
 */
export function sentTarget(sent: object, present: CommonSettings | undefined): object {
  const type: unknown = Reflect.get(sent, 'type') ?? present?.type;
  const schema = typeof type === 'string' ? findTargetType(type)?.schema : undefined;
  if (schema === undefined) return sent;
  const shown: object | undefined = present && JSON.parse(JSON.stringify(present));
  return underOwnNames(schema, sent, shown);
}
