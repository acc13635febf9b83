import * as z from 'zod';
import { type AuthSettings, authSchema } from '../../auth/sso/settings.ts';
import { isMap } from '../../config/plain.ts';
import type { SettingsView } from '../../resources/settings/view.ts';
import type { Shape } from '../shape.ts';
import { noted, unchangeable, wireNotes, withoutNotes } from './settings-notes.ts';

const same = (what: string): string => `For clients of the family: ${what}`;

/** Members the family's clients insist on, for kinds of provider that this server does not have. */
const family = z.object({
  fallbackBadLogin: z
    .literal(false)
    .default(false)
    .describe(same('a wrong password is never tried elsewhere.')),
  host: z.literal('').default('').describe(same('no directory is asked.')),
  port: z.literal(0).default(0).describe(same('no directory is asked.')),
  ssl: z.literal(false).default(false).describe(same('no directory is asked.')),
  filter_type: z.literal('').default('').describe(same('nobody is filtered but by groups.')),
});
const FAMILY = family.parse({});

export const authSettingsShape: Shape = {
  name: 'AuthSettings',
  schema: z.strictObject({ ...family.shape, ...authSchema.shape }),
  adds: noted,
};

/** `/system/settings/auth`: the section `auth` beside the family's members. */
export const wireAuthSettings = ({ settings, notes }: SettingsView<AuthSettings>): object => ({
  ...FAMILY,
  ...settings,
  ...wireNotes(notes),
});

/** A body without what is the family's alone, which may be sent back and not changed. */
export function sentAuthSettings(sent: unknown): unknown {
  const body = withoutNotes(sent);
  if (!isMap(body)) return body;
  const entries = Object.entries(body).filter(([key]) => !Object.hasOwn(FAMILY, key));
  for (const [key, value] of Object.entries(FAMILY))
    if (Object.hasOwn(body, key) && body[key] !== value) throw unchangeable(key);
  return Object.fromEntries(entries);
}
