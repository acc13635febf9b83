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
