import { isDeepStrictEqual } from 'node:util';
import * as z from 'zod';
import { isMap, type PlainMap } from '../../config/plain.ts';
import { type Settings, settingsSchema } from '../../config/settings.ts';
import { AppError } from '../../lib/errors.ts';
import type { Shape } from '../shape.ts';

/** Sections the family's clients insist on, and what is true of this server where they ask it. */
const FAMILY: Readonly<Record<string, PlainMap>> = {
  system: { upgrade: 'false', intercom: false },
  workers: { count: 1, minimum: 1, memory: 0 },
  proxy: { useEnvVars: false },
  shutdown: { drainTimeout: 10_000 },
  tls: {},
  sni: {},
  pii: {},
  upgradeSettings: {},
  upgradeGroupSettings: {},
  backups: {},
  rollback: {},
};

const { api } = settingsSchema.shape;
const disabled = z.literal(false).default(false).describe('For clients of the family: always false.');
const family = Object.entries(FAMILY).map(([name, value]) => [
  name,
  z
    .looseObject({})
    .default({ ...value })
    .describe('For clients of the family; the same on every server.'),
]);

export const settingsShape: Shape = {
  name: 'Settings',
  schema: z.strictObject({
    ...settingsSchema.shape,
    api: api
      .unwrap()
      .extend({ disabled })
      .prefault({})
      .describe(api.description ?? ''),
    ...Object.fromEntries(family),
  }),
};

/** `/system/settings/conf`: our settings under our names beside the family's. */
export const wireSettings = (settings: Settings): object => ({
  ...FAMILY,
  ...settings,
  api: { ...settings.api, disabled: false },
});

/** A body without what is the family's alone, which may be sent back and not changed. */
export function sentSettings(body: unknown): unknown {
  if (!isMap(body)) return body;
  const sections = Object.entries(body).flatMap(([section, value]): [string, unknown][] => {
    if (section === 'api' && isMap(value)) return [[section, withoutDisabled(value)]];
    if (!Object.hasOwn(FAMILY, section)) return [[section, value]];
    if (!isDeepStrictEqual(value, FAMILY[section])) throw unchangeable(section);
    return [];
  });
  return Object.fromEntries(sections);
}

function withoutDisabled({ disabled = false, ...api }: PlainMap): PlainMap {
  if (disabled !== false) throw unchangeable('api.disabled');
  return api;
}

function unchangeable(path: string): AppError {
  const message = 'is answered for other programs and cannot be changed on this server';
  return new AppError('invalid-request', `${path}: ${message}`, { problems: [{ path, message }] });
}
