import { isDeepStrictEqual } from 'node:util';
import * as z from 'zod';
import { isMap, type PlainMap, plainCopy } from '../../config/plain.ts';
import { type Settings, settingsSchema } from '../../config/settings.ts';
import type { SettingsView } from '../../resources/settings/view.ts';
import type { Call } from '../../resources/verb.ts';
import type { Shape } from '../shape.ts';
import { noted, unchangeable, wireNotes, withoutNotes } from './settings-notes.ts';

/** Sections the family's clients insist on, and what is true of this server where they ask it. */
const FAMILY: Readonly<Record<string, PlainMap>> = {
  system: { upgrade: 'false', intercom: false },
  workers: { count: 1, minimum: 1, memory: 0 },
  proxy: { useEnvVars: false },
  shutdown: { drainTimeout: 10_000 },
  apps: { enabled: false },
  sni: {},
  pii: {},
  upgradeSettings: {},
  upgradeGroupSettings: {},
  backups: {},
  rollback: {},
};

/** What their `api` holds beside ours, and their `tls`: ours is `api.tls`. */
function familyOf({ api: { tls } }: Settings): { readonly sections: PlainMap; readonly api: PlainMap } {
  const { certPath = '', privKeyPath = '', caPath = '', passphrase = '' } = tls ?? {};
  const ssl = { disabled: tls === undefined, privKeyPath, passphrase, certPath, caPath };
  const { minVersion, maxVersion } = tls ?? {};
  const sections = { ...FAMILY, tls: plainCopy({ minVersion, maxVersion }) };
  return { sections, api: plainCopy({ disabled: false, ssl }) };
}

const { api } = settingsSchema.shape;
const disabled = z.literal(false).default(false).describe('For clients of the family: always false.');
const family = (value: PlainMap) =>
  z
    .looseObject({})
    .default({ ...value })
    .describe('For clients of the family; cannot be changed here.');

export const settingsShape: Shape = {
  name: 'Settings',
  schema: z.strictObject({
    ...settingsSchema.shape,
    api: api
      .unwrap()
      .extend({ disabled, ssl: family({ disabled: true }) })
      .prefault({})
      .describe(api.description ?? ''),
    ...Object.fromEntries(
      Object.entries({ ...FAMILY, tls: {} }).map(([name, value]) => [name, family(value)]),
    ),
  }),
  adds: noted,
};

/** `/system/settings/conf`: our settings under our names beside the family's. */
export function wireSettings({ settings, notes }: SettingsView<Settings>): object {
  const { sections, api: ours } = familyOf(settings);
  return { ...sections, ...settings, api: { ...settings.api, ...ours }, ...wireNotes(notes) };
}

/** A body without what is the family's alone, which may be sent back in part or whole and not changed. */
export function sentSettings(sent: unknown, { house }: Pick<Call, 'house'>): unknown {
  const body = withoutNotes(sent);
  if (!isMap(body)) return body;
  const family = familyOf(house.configuration().settings);
  const sections = without(family.sections, '', body);
  return isMap(sections.api) ? { ...sections, api: without(family.api, 'api.', sections.api) } : sections;
}

function without(family: PlainMap, prefix: string, sent: PlainMap): PlainMap {
  const own = Object.entries(sent).filter(([key, value]) => {
    if (!Object.hasOwn(family, key)) return true;
    if (!isPartOf(value, family[key])) throw unchangeable(`${prefix}${key}`);
    return false;
  });
  return Object.fromEntries(own);
}

const isPartOf = (sent: unknown, answered: unknown): boolean =>
  isMap(sent) && isMap(answered)
    ? Object.entries(sent).every(([key, value]) => isDeepStrictEqual(value, answered[key]))
    : isDeepStrictEqual(sent, answered);
