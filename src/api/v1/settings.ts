import { isDeepStrictEqual } from 'node:util';
import * as z from 'zod';
import { authSchema } from '../../auth/settings.ts';
import { isMap, type PlainMap, plainCopy } from '../../config/plain.ts';
import { childOf, valueAt } from '../../config/schema-walk.ts';
import { shownSettings } from '../../config/secrets/shown.ts';
import { settingsSchema } from '../../config/settings.ts';
import { AppError, type Problem } from '../../lib/errors.ts';
import type { Call } from '../../resources/context.ts';
import { etagOf } from '../../resources/etag.ts';
import { writable } from '../../resources/item-writes.ts';
import {
  getAuthSettings,
  getSettings,
  type SettingsView,
  updateAuthSettings,
  updateSettings,
} from '../../resources/settings.ts';
import { item } from '../envelope.ts';
import type { Shape } from '../operation.ts';
import { type Route, route, WRITE_ERRORS } from '../route.ts';

const note = z.object({
  path: z.string().describe('Of the setting, as in `api.port`.'),
  message: z.string().describe('For a person.'),
});

/** Notes on settings that wait for a restart, and on those that the file does not decide. */
const notesFields = {
  headgate: z
    .object({
      notes: z.array(note).describe('Settings whose active value differs from the file, and why.'),
    })
    .describe('May be sent back and is ignored.'),
};

const wireNotes = (notes: readonly Problem[]): object => ({ headgate: { notes } });

/** Drops the notes and other keys of answers, which no write can change. */
const withoutNotes = (body: unknown): unknown => (isMap(body) ? writable(body) : body);

/** Refuses a change of a field that exists only for Cribl-compatible clients. */
function unchangeable(path: string): AppError {
  const message = 'is answered for other programs and cannot be changed on this server';
  return new AppError('invalid-request', `${path}: ${message}`, { problems: [{ path, message }] });
}

/** Sections that Cribl-compatible clients require, with values that hold for this server. */
const CRIBL_SECTIONS: Readonly<Record<string, PlainMap>> = {
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

/** Cribl's `tls` is our `api.tls`, and Cribl's `api` has fields besides ours. */
function criblSettingsOf(settings: PlainMap): { readonly sections: PlainMap; readonly api: PlainMap } {
  const tls = valueAt(settings, ['api', 'tls']);
  const paths = ['privKeyPath', 'passphrase', 'certPath', 'caPath'].map(key => [
    key,
    childOf(tls, key) ?? '',
  ]);
  const ssl = { disabled: tls === undefined, ...Object.fromEntries(paths) };
  const versions = ['minVersion', 'maxVersion'].map(key => [key, childOf(tls, key)]);
  const sections = { ...CRIBL_SECTIONS, tls: plainCopy(Object.fromEntries(versions)) };
  return { sections, api: plainCopy({ disabled: false, ssl }) };
}

const { api } = settingsSchema.shape;
const disabled = z.literal(false).default(false).describe('For Cribl-compatible clients: always false.');
const criblSettings = (value: PlainMap) =>
  z
    .looseObject({})
    .default({ ...value })
    .describe('For Cribl-compatible clients; cannot be changed here.');

const settingsShape: Shape = {
  name: 'Settings',
  schema: z.strictObject({
    ...settingsSchema.shape,
    api: api
      .unwrap()
      .extend({ disabled, ssl: criblSettings({ disabled: true }) })
      .prefault({})
      .describe(api.description ?? ''),
    ...Object.fromEntries(
      Object.entries({ ...CRIBL_SECTIONS, tls: {} }).map(([name, value]) => [name, criblSettings(value)]),
    ),
  }),
  answerFields: notesFields,
};

/** `/system/settings/conf`: our settings beside those for Cribl-compatible clients. */
function wireSettings({ settings, notes }: SettingsView): object {
  const { sections, api: ours } = criblSettingsOf(settings);
  const own = isMap(settings.api) ? settings.api : {};
  return { ...sections, ...settings, api: { ...own, ...ours }, ...wireNotes(notes) };
}

/** Drops the fields for Cribl-compatible clients, which may be sent back in part or whole, but unchanged. */
function sentSettings(sent: unknown, { context }: Pick<Call, 'context'>): unknown {
  const body = withoutNotes(sent);
  if (!isMap(body)) return body;
  const criblSettings = criblSettingsOf(shownSettings(context.configuration()));
  const sections = withoutCribl(criblSettings.sections, '', body);
  return isMap(sections.api)
    ? { ...sections, api: withoutCribl(criblSettings.api, 'api.', sections.api) }
    : sections;
}

function withoutCribl(criblSettings: PlainMap, prefix: string, sent: PlainMap): PlainMap {
  const own = Object.entries(sent).filter(([key, value]) => {
    if (!Object.hasOwn(criblSettings, key)) return true;
    if (!isPartOf(value, criblSettings[key])) throw unchangeable(`${prefix}${key}`);
    return false;
  });
  return Object.fromEntries(own);
}

const isPartOf = (sent: unknown, answered: unknown): boolean =>
  isMap(sent) && isMap(answered)
    ? Object.entries(sent).every(([key, value]) => isDeepStrictEqual(value, answered[key]))
    : isDeepStrictEqual(sent, answered);

const forCriblClients = (what: string): string => `For Cribl-compatible clients: ${what}`;

/** Fields that Cribl-compatible clients require, for kinds of provider that this server does not have. */
const criblAuthSchema = z.object({
  fallbackBadLogin: z
    .literal(false)
    .default(false)
    .describe(forCriblClients('a wrong password is never tried elsewhere.')),
  host: z.literal('').default('').describe(forCriblClients('no directory is asked.')),
  port: z.literal(0).default(0).describe(forCriblClients('no directory is asked.')),
  ssl: z.literal(false).default(false).describe(forCriblClients('no directory is asked.')),
  filter_type: z.literal('').default('').describe(forCriblClients('nobody is filtered but by groups.')),
});
const CRIBL_AUTH_FIELDS = criblAuthSchema.parse({});

const authSettingsShape: Shape = {
  name: 'AuthSettings',
  schema: z.strictObject({ ...criblAuthSchema.shape, ...authSchema.shape }),
  answerFields: notesFields,
};

/** `/system/settings/auth`: the section `auth` beside the fields for Cribl-compatible clients. */
const wireAuthSettings = ({ settings, notes }: SettingsView): object => ({
  ...CRIBL_AUTH_FIELDS,
  ...settings,
  ...wireNotes(notes),
});

/** Drops the fields for Cribl-compatible clients, which may be sent back unchanged. */
function sentAuthSettings(sent: unknown): unknown {
  const body = withoutNotes(sent);
  if (!isMap(body)) return body;
  const entries = Object.entries(body).filter(([key]) => !Object.hasOwn(CRIBL_AUTH_FIELDS, key));
  for (const [key, value] of Object.entries(CRIBL_AUTH_FIELDS))
    if (Object.hasOwn(body, key) && body[key] !== value) throw unchangeable(key);
  return Object.fromEntries(entries);
}

/** Of the settings alone, as the notes may change with a restart. */
const etag = ({ settings }: SettingsView): string => etagOf(settings);

const settingsRoute = { path: '/system/settings/conf', answer: item(settingsShape, wireSettings), etag };
const authSettingsRoute = {
  path: '/system/settings/auth',
  answer: item(authSettingsShape, wireAuthSettings),
  etag,
  isOfInstallation: true,
} as const;

const MERGED = 'Maps are merged, null takes back to the default, and everything else replaces.';

export const settingsRoutes: readonly Route[] = [
  route({
    ...settingsRoute,
    id: 'settings.get',
    grouped: 'alike',
    method: 'GET',
    summary: 'Get the settings with every default, secrets masked',
    verb: getSettings,
  }),
  route({
    ...settingsRoute,
    id: 'settings.update',
    grouped: 'alike',
    method: 'PATCH',
    summary: 'Change the settings that are sent, in the file and at once',
    description: `${MERGED} What waits for a restart, or is set by the environment or a flag, is answered in notes.`,
    verb: updateSettings,
    takes: { shape: settingsShape, kind: 'part' },
    accept: sentSettings,
    errors: WRITE_ERRORS,
    example: { body: { delivery: { retrySchedule: ['0s', '10s', '1m'] } } },
  }),
  route({
    ...authSettingsRoute,
    id: 'authSettings.get',
    grouped: 'alike',
    method: 'GET',
    summary: 'Get how people sign in, secrets masked',
    verb: getAuthSettings,
  }),
  route({
    ...authSettingsRoute,
    id: 'authSettings.update',
    grouped: 'alike',
    method: 'PATCH',
    summary: 'Change how people sign in, in the file and at once',
    description: MERGED,
    verb: updateAuthSettings,
    takes: { shape: authSettingsShape, kind: 'part' },
    accept: sentAuthSettings,
    errors: WRITE_ERRORS,
    example: { body: { fallback: true } },
  }),
];
