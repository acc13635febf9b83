import { arch, cpus, freemem, hostname, loadavg, platform, release, totalmem } from 'node:os';
import * as z from 'zod';
import { type Configuration, SETTINGS_FILE } from '../config/configuration.ts';
import { isMap, type PlainMap } from '../config/plain.ts';
import { formatPath } from '../config/problems.ts';
import { shownSettings } from '../config/secrets/shown.ts';
import { settingsSchema } from '../config/settings.ts';
import { AppError, type Problem } from '../lib/errors.ts';
import { VERSION } from '../lib/version.ts';
import type { Call } from './context.ts';
import { assertMatches } from './etag.ts';
import { itemBody, withStoredSecrets } from './item-writes.ts';
import { mergeSettings, toFileForm } from './patch.ts';
import { shownTo } from './shown-addresses.ts';
import { defineVerb } from './verb.ts';

/** Effective settings, secrets masked, and what is to be known of some of them. */
export interface SettingsView {
  readonly settings: PlainMap;
  /** Settings that wait for a restart, or that the file does not decide; by their paths in `settings`. */
  readonly notes: readonly Problem[];
}

const viewSettings = (configuration: Configuration): SettingsView => ({
  settings: shownSettings(configuration),
  notes: notesOf(configuration),
});

/** The section `auth` alone. */
function viewAuthSettings(configuration: Configuration): SettingsView {
  const { auth } = shownSettings(configuration);
  const notes = notesOf(configuration).flatMap(({ path, message }) =>
    path.startsWith(AUTH) ? [{ path: path.slice(AUTH.length), message }] : [],
  );
  return { settings: isMap(auth) ? auth : {}, notes };
}

const AUTH = 'auth.';

const notesOf = ({ overridden, waiting }: Configuration): Problem[] => [
  ...waiting,
  ...overridden.map(({ path, name }) => ({
    path: formatPath(path),
    message: `is set by ${name}; what the file says has no effect until that goes`,
  })),
];

interface SettingsChange {
  /** A patch of all settings. */
  readonly patch: PlainMap;
  readonly ifMatch: string | undefined;
  /** The caller's view; `ifMatch` is its tag. */
  readonly view: (configuration: Configuration) => SettingsView;
}

/** Merges into headgate.yml and answers the active settings. Throws as `context.save` does, and for `ifMatch`. */
async function changeSettings(call: Call, { patch, ifMatch, view }: SettingsChange): Promise<SettingsView> {
  const { actor, context } = call;
  const saved = await context.save({
    author: actor.name,
    source: 'api',
    edits(now) {
      const before = { inFile: now.raw.settings, effective: shownSettings(now) };
      assertMatches(ifMatch, view(now).settings);
      const { value, secrets } = withStoredSecrets(call, {
        now,
        schema: settingsSchema,
        owner: ['settings'],
        item: mergeSettings(before, patch, now.overridden),
        sent: patch,
        present: before,
      });
      return [{ section: 'settings', id: '', value: toFileForm(settingsSchema, value, before), secrets }];
    },
  });
  return view(saved);
}

/** Effective settings; secrets are masked. */
export const getSettings = defineVerb({
  permission: 'read:settings',
  input: z.object({}),
  run({ actor, context }) {
    const { settings, notes } = viewSettings(context.configuration());
    return { settings: shownTo(actor, SETTINGS_FILE, settingsSchema, settings), notes };
  },
});

/** Merges the body into the settings: maps into maps, null takes back to the default, everything else replaces. */
export const updateSettings = defineVerb({
  permission: 'update:settings',
  input: z.object({ body: itemBody, ifMatch: z.string().optional() }),
  run: (call, { body, ifMatch }) => changeSettings(call, { patch: body, ifMatch, view: viewSettings }),
});

/** How people sign in, with every default; secrets are masked. */
export const getAuthSettings = defineVerb({
  permission: 'read:settings',
  input: z.object({}),
  run: ({ context }) => viewAuthSettings(context.configuration()),
});

/** Merges the body into the section `auth`, as a change of all settings does. */
export const updateAuthSettings = defineVerb({
  permission: 'update:settings',
  input: z.object({ body: itemBody, ifMatch: z.string().optional() }),
  run: (call, { body, ifMatch }) =>
    changeSettings(call, { patch: { auth: body }, ifMatch, view: viewAuthSettings }).catch(asSent),
});

/** The sender knows the paths of the body, which are those below `auth`. */
function asSent(error: unknown): never {
  if (!(error instanceof AppError) || error.problems === undefined) throw error;
  const within = ({ path, message }: Problem): Problem => ({ path: withoutSection(path), message });
  throw new AppError(error.code, withoutSection(error.message), {
    problems: error.problems.map(within),
    cause: error,
  });
}

const withoutSection = (path: string): string => path.replace(/^auth\./, '');

/** This process alone: what is deployed to is every process at once. */
export const getInstance = defineVerb({
  permission: 'read:settings',
  input: z.object({}),
  run: ({ context }) => ({ id: context.configuration().settings.instance.name }),
});

export interface SystemInfo {
  readonly version: string;
  /** The name of the installation. */
  readonly instance: string;
  readonly apiPort: number;
  readonly uptimeSeconds: number;
  /** Absent where others share the machine. */
  readonly machine?: Machine;
}

export interface Machine {
  readonly hostname: string;
  /** Over 1, 5 and 15 minutes. */
  readonly loadavg: readonly number[];
  /** Bytes. */
  readonly memory: { readonly free: number; readonly total: number };
  readonly cpus: readonly { readonly model: string; readonly speed: number }[];
  readonly os: { readonly platform: string; readonly arch: string; readonly release: string };
}

/** What the server is and, where it is the caller's alone, the machine that it runs on, read anew each time. */
export const getSystemInfo = defineVerb({
  permission: 'read:settings',
  input: z.object({}),
  run({ context }): SystemInfo {
    const { api, instance } = context.configuration().settings;
    return {
      version: VERSION,
      instance: instance.name,
      apiPort: api.port,
      uptimeSeconds: Math.floor(process.uptime()),
      ...(!context.isMachineShared && { machine: machineNow() }),
    };
  },
});

export const machineNow = (): Machine => ({
  hostname: hostname(),
  loadavg: loadavg(),
  memory: { free: freemem(), total: totalmem() },
  cpus: cpus().map(({ model, speed }) => ({ model, speed })),
  os: { platform: platform(), arch: arch(), release: release() },
});
