import { accessSync, constants, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../lib/clock.ts';
import type { Problem } from '../lib/errors.ts';
import type { Notification } from '../notifications/notification.ts';
import type { Target } from '../targets/target.ts';
import type { Declared, RawItems } from './configuration.ts';
import { describeReadError } from './file-text.ts';
import type { Overridden } from './overrides.ts';
import { deepFreeze, isMap, type PlainMap } from './plain.ts';
import { type ConfigProblem, inOrder } from './problems.ts';
import { readDeclared } from './read/declared.ts';
import { readNotifications } from './read/notifications.ts';
import { readSettings, type SettingsSources } from './read/settings.ts';
import type { ValueOrigin } from './schema-problems.ts';
import type { Settings } from './settings.ts';
import { type ConfigDocument, type ConfigItem, readConfigDocument } from './yaml/document.ts';

export const SETTINGS_FILE = 'headgate.yml';
export const NOTIFICATIONS_FILE = 'notifications.yml';
export const INPUTS_FILE = 'inputs.yml';
export const OUTPUTS_FILE = 'outputs.yml';

/** Every file of a configuration, in the order their problems are told. */
export const FILES = [SETTINGS_FILE, NOTIFICATIONS_FILE, INPUTS_FILE, OUTPUTS_FILE] as const;
export type FileName = (typeof FILES)[number];

/** A whole configuration, frozen where it is plain. */
export interface Configuration {
  readonly settings: Settings;
  readonly targets: readonly Target[];
  readonly notifications: readonly Notification[];
  readonly inputs: readonly Declared[];
  readonly outputs: readonly Declared[];
  readonly raw: RawItems;
  readonly warnings: readonly ConfigProblem[];
  /** Settings that flags and environment set, whatever the file says. */
  readonly overridden: readonly Overridden[];
  /** Settings that wait for a restart, by their paths. */
  readonly waiting: readonly Problem[];
  /** ISO time, UTC. */
  readonly loadedAt: string;
}

export type LoadResult = {
  readonly warnings: readonly ConfigProblem[];
  /** Every file that was looked at, secrets' files included: a change of one may change the result. */
  readonly files: readonly string[];
  /** The files that are there, as they were read. */
  readonly texts: FileTexts;
} & (
  | {
      readonly ok: true;
      readonly configuration: Configuration;
      /** Where settings of headgate.yml come from. */
      readonly settingOrigin: ValueOrigin;
      /** What each target was made of, its references resolved. */
      readonly resolvedTargets: readonly unknown[];
      /** The texts with their secrets masked, where somebody has done that already. */
      readonly masked?: FileTexts;
    }
  | { readonly ok: false; readonly problems: readonly ConfigProblem[] }
);

export type Loaded = Extract<LoadResult, { readonly ok: true }>;

export interface Sources extends SettingsSources {
  /** Under a tenant's terms only a name: then all texts are given. */
  readonly folder: string;
  /** Texts that count in place of what is on disk. */
  readonly texts?: FileTexts;
}

export type FileTexts = Readonly<Partial<Record<FileName, string>>>;

/** Reads the files as `readConfiguration` does, for keeps. */
export function loadConfiguration(sources: Sources, clock: Pick<Clock, 'now'>): LoadResult {
  const result = readConfiguration(sources, clock);
  if (result.ok) deepFreeze(result.configuration);
  return result;
}

/**
 * Reads the files of a folder, a missing one counting as empty, and checks everything: all problems of all
 * files come at once, in the order they stand there. Never throws for what a file holds.
 */
export function readConfiguration(sources: Sources, clock: Pick<Clock, 'now'>): LoadResult {
  const { folder } = sources;
  const names = configurationFiles(folder);
  const trouble = sources.restrictions === undefined ? folderProblem(folder) : undefined;
  if (trouble !== undefined) return { ok: false, problems: [trouble], warnings: [], files: names, texts: {} };

  const document = (name: FileName) => readConfigDocument(folder, name, sources.texts?.[name]);
  const documents = {
    [SETTINGS_FILE]: document(SETTINGS_FILE),
    [NOTIFICATIONS_FILE]: document(NOTIFICATIONS_FILE),
    [INPUTS_FILE]: document(INPUTS_FILE),
    [OUTPUTS_FILE]: document(OUTPUTS_FILE),
  };
  const texts = textsOf(documents);
  const reading = readSettings(documents[SETTINGS_FILE], sources);
  const rest = readNotifications(documents[NOTIFICATIONS_FILE], sources, reading);
  const inputs = readDeclared(documents[INPUTS_FILE], 'input');
  const outputs = readDeclared(documents[OUTPUTS_FILE], 'output');
  const parts = [documents[SETTINGS_FILE], reading, rest, inputs, outputs];
  const problems = parts.flatMap(part => part.problems);
  const warnings = inOrder([...reading.warnings, ...rest.warnings], names);
  const files = [...names, ...reading.files, ...rest.files];
  if (reading.settings === undefined || problems.length > 0)
    return { ok: false, problems: inOrder(problems, names), warnings, files, texts };
  const configuration: Configuration = {
    settings: reading.settings,
    targets: rest.targets,
    notifications: rest.notifications,
    inputs: inputs.declared,
    outputs: outputs.declared,
    raw: {
      settings: { ...documents[SETTINGS_FILE].value },
      targets: rawById(rest.targetItems),
      notifications: rawById(rest.notificationItems),
      inputs: rawById(inputs.items),
      outputs: rawById(outputs.items),
    },
    warnings,
    overridden: reading.overridden,
    waiting: [],
    loadedAt: new Date(clock.now()).toISOString(),
  };
  const { resolvedTargets } = rest;
  return { ok: true, configuration, warnings, files, texts, settingOrigin: reading.origin, resolvedTargets };
}

function textsOf(documents: Readonly<Record<FileName, ConfigDocument>>): FileTexts {
  const texts: Partial<Record<FileName, string>> = {};
  for (const name of FILES) {
    const { text } = documents[name];
    if (text !== undefined) texts[name] = text;
  }
  return texts;
}

/** Everything counts by its id; items without one are errors by now. */
function rawById(items: readonly ConfigItem[]): RawItems['targets'] {
  const byId = new Map<string, PlainMap>();
  for (const { id, value } of items) if (id !== undefined && isMap(value)) byId.set(id, Object.freeze(value));
  return byId;
}

export const configurationFiles = (folder: string): string[] => FILES.map(name => join(folder, name));

function folderProblem(folder: string): ConfigProblem | undefined {
  const problem = (message: string): ConfigProblem => ({
    file: folder,
    line: 1,
    column: 1,
    path: '',
    message,
  });
  try {
    if (!statSync(folder).isDirectory())
      return problem('is not a folder; name the folder of the configuration');
    accessSync(folder, constants.R_OK | constants.X_OK);
    return undefined;
  } catch (error) {
    return problem(`the folder of the configuration cannot be read: ${describeReadError(error)}`);
  }
}
