import { accessSync, constants, statSync } from 'node:fs';
import type { Notification } from '../../notifications/notification.ts';
import type { Target } from '../../targets/target.ts';
import {
  type Configuration,
  charactersOf,
  configurationFiles,
  type Declared,
  FILES,
  type FileName,
  type FileTexts,
  INPUTS_FILE,
  NOTIFICATIONS_FILE,
  OUTPUTS_FILE,
  type RawItems,
  SETTINGS_FILE,
} from '../configuration.ts';
import { describeReadError } from '../file-text.ts';
import type { Overridden } from '../overrides.ts';
import { isMap, type PlainMap } from '../plain.ts';
import {
  type ConfigProblem,
  type Finding,
  type FindingList,
  finding,
  findingList,
  firstProblems,
} from '../problems.ts';
import { overQuota } from '../restrictions.ts';
import type { ValueOrigin } from '../schema-problems.ts';
import type { Settings } from '../settings.ts';
import { type ConfigDocument, type ConfigItem, readConfigDocument } from '../yaml/document.ts';
import { readDeclared } from './declared.ts';
import { readNotifications } from './notifications.ts';
import { readSettings, type SettingsSources } from './settings.ts';

export interface Sources extends SettingsSources {
  /** Under the restrictions of a workspace only a name: then all texts are given. */
  readonly folder: string;
  /** Texts that count in place of what is on disk. */
  readonly texts?: FileTexts;
  /** Files in which it is an error that something stands there and is not used. */
  readonly refusing?: readonly FileName[];
}

/** A checked configuration as data, which can cross from the config worker to the main thread. */
export interface ConfigurationData {
  /** The targets as they were written, their references resolved. */
  readonly targets: ReturnType<typeof readNotifications>['resolvedTargets'];
  readonly inputs: readonly Declared[];
  readonly outputs: readonly Declared[];
  readonly raw: RawItems;
}

/** Values that were made while a configuration was checked: some have functions, so they stay on their thread. */
export interface ConfigurationValues {
  readonly settings: Settings;
  readonly settingOrigin: ValueOrigin;
  readonly overridden: readonly Overridden[];
  readonly targets: readonly Target[];
  readonly notifications: readonly Notification[];
  readonly inhibitions: Configuration['inhibitions'];
}

export type ReadConfiguration = {
  readonly warnings: readonly ConfigProblem[];
  /** The warnings of what is not used although it stands there. A change that brings it is refused. */
  readonly refusals: FindingList;
  /** Every file that was looked at, secrets' files included. */
  readonly files: readonly string[];
  /** The files that are there, as they were read. */
  readonly texts: FileTexts;
} & (
  | { readonly ok: true; readonly data: ConfigurationData; readonly values: ConfigurationValues }
  | { readonly ok: false; readonly problems: readonly ConfigProblem[] }
);

/**
 * Reads the files of a folder, a missing one counting as empty, and checks everything: the first problems of all files come
 * at once, in the order they stand there, and how many more there are. Never throws for what a file holds.
 */
export function readConfiguration(sources: Sources): ReadConfiguration {
  const { folder } = sources;
  const names = configurationFiles(folder);
  const trouble = sources.restrictions === undefined ? folderProblem(folder) : undefined;
  if (trouble !== undefined)
    return { ok: false, problems: [trouble], warnings: [], refusals: findingList(), files: names, texts: {} };

  const documents = readDocuments(sources);
  const texts = textsOf(documents);
  const reading = readSettings(documents[SETTINGS_FILE], sources);
  const rest = readNotifications(documents[NOTIFICATIONS_FILE], sources, reading);
  const inputs = readDeclared(documents[INPUTS_FILE], 'input');
  const outputs = readDeclared(documents[OUTPUTS_FILE], 'output');
  const parts = [documents[SETTINGS_FILE], reading, rest, inputs, outputs];
  const refusals = findingList(reading.refusals, rest.refusals);
  const isError = (name: FileName): boolean => sources.refusing?.includes(name) === true;
  const problems = findingList(
    tooManyCharacters(sources, texts),
    ...parts.map(part => part.problems),
    isError(SETTINGS_FILE) ? reading.refusals : [],
    isError(NOTIFICATIONS_FILE) ? rest.refusals : [],
  );
  const found = findingList(
    reading.warnings,
    rest.warnings,
    isError(SETTINGS_FILE) ? [] : reading.refusals,
    isError(NOTIFICATIONS_FILE) ? [] : rest.refusals,
  );
  const warnings = firstProblems('warnings', found, names);
  const files = [...names, ...reading.files, ...rest.files];
  const { settings, origin: settingOrigin, overridden } = reading;
  if (settings === undefined || problems.length > 0)
    return {
      ok: false,
      problems: firstProblems('problems', problems, names),
      warnings,
      refusals,
      files,
      texts,
    };
  const data: ConfigurationData = {
    targets: rest.resolvedTargets,
    inputs: inputs.declared,
    outputs: outputs.declared,
    raw: {
      targets: rawById(rest.targetItems),
      notifications: rawById(rest.notificationItems),
      inhibitions: rawById(rest.inhibitionItems),
      inputs: rawById(inputs.items),
      outputs: rawById(outputs.items),
      settings: { ...documents[SETTINGS_FILE].value },
    },
  };
  const { targets, notifications, inhibitions } = rest;
  const values = { settings, settingOrigin, overridden, targets, notifications, inhibitions };
  return { ok: true, data, values, warnings, refusals, files, texts };
}

function readDocuments({ folder, texts }: Sources): Readonly<Record<FileName, ConfigDocument>> {
  const read = (name: FileName) => readConfigDocument(folder, name, texts?.[name]);
  return {
    [SETTINGS_FILE]: read(SETTINGS_FILE),
    [NOTIFICATIONS_FILE]: read(NOTIFICATIONS_FILE),
    [INPUTS_FILE]: read(INPUTS_FILE),
    [OUTPUTS_FILE]: read(OUTPUTS_FILE),
  };
}

/** The problem stands at the longest text. */
function tooManyCharacters({ folder, restrictions }: Sources, texts: FileTexts): Finding[] {
  const message = overQuota(restrictions, 'configurationCharacters', charactersOf(texts));
  if (message === undefined) return [];
  const lengths = FILES.map(name => texts[name]?.length ?? 0);
  const file = configurationFiles(folder)[lengths.indexOf(Math.max(...lengths))] ?? folder;
  return [finding(() => ({ file, line: 1, column: 1, path: '' }), message)];
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
