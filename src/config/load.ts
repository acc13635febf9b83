import { accessSync, constants, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../lib/clock.ts';
import type { Notification } from '../notifications/notification.ts';
import type { Target } from '../targets/target.ts';
import { checkWindow, unknownTargets } from './cross-checks.ts';
import { type ConfigDocument, readDocument } from './document.ts';
import { deepFreeze } from './freeze.ts';
import { type Origin, unknownKeyText } from './issues.ts';
import { type Item, type Items, readItems } from './items.ts';
import { originIn } from './origin.ts';
import { type ConfigProblem, formatPath, inOrder } from './problems.ts';
import { readNotification, readTarget } from './read-notifications.ts';
import { type Outside, pullIntervals, readSettings, type SettingsReading } from './read-settings.ts';
import type { Settings } from './settings.ts';
import { whyOf } from './text.ts';

export const SETTINGS_FILE = 'headgate.yml';
export const NOTIFICATIONS_FILE = 'notifications.yml';

/** A whole configuration, frozen where it is plain. */
export interface Configuration {
  readonly settings: Settings;
  readonly targets: readonly Target[];
  readonly notifications: readonly Notification[];
  readonly warnings: readonly ConfigProblem[];
  /** ISO time, UTC. */
  readonly loadedAt: string;
}

export type LoadResult = {
  readonly warnings: readonly ConfigProblem[];
  /** Every file that was looked at, secrets' files included: a change of one may change the result. */
  readonly files: readonly string[];
} & (
  | {
      readonly ok: true;
      readonly configuration: Configuration;
      /** Where settings of headgate.yml come from. */
      readonly settingOrigin: Origin;
    }
  | { readonly ok: false; readonly problems: readonly ConfigProblem[] }
);

export interface Sources extends Outside {
  readonly folder: string;
}

/**
 * Reads the files of a folder, a missing one counting as empty, and checks everything: all problems of all
 * files come at once, in the order they stand there. Never throws for what a file holds.
 */
export function loadConfiguration(sources: Sources, clock: Pick<Clock, 'now'>): LoadResult {
  const { folder } = sources;
  const names = configurationFiles(folder);
  const trouble = folderProblem(folder);
  if (trouble !== undefined) return { ok: false, problems: [trouble], warnings: [], files: names };

  const settingsDocument = readDocument(folder, SETTINGS_FILE);
  const reading = readSettings(settingsDocument, sources);
  const rest = readNotifications(readDocument(folder, NOTIFICATIONS_FILE), sources, reading);
  const problems = [...settingsDocument.problems, ...reading.problems, ...rest.problems];
  const warnings = inOrder([...reading.warnings, ...rest.warnings], names);
  const files = [...names, ...reading.files, ...rest.files];
  if (reading.settings === undefined || problems.length > 0)
    return { ok: false, problems: inOrder(problems, names), warnings, files };
  const configuration = deepFreeze({
    settings: reading.settings,
    targets: rest.targets,
    notifications: rest.notifications,
    warnings,
    loadedAt: new Date(clock.now()).toISOString(),
  });
  return { ok: true, configuration, warnings, files, settingOrigin: reading.origin };
}

export const configurationFiles = (folder: string): string[] => [
  join(folder, SETTINGS_FILE),
  join(folder, NOTIFICATIONS_FILE),
];

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
    return problem(`the folder of the configuration cannot be read: ${whyOf(error)}`);
  }
}

interface NotificationsReading {
  readonly targets: Target[];
  readonly notifications: Notification[];
  readonly problems: ConfigProblem[];
  readonly warnings: ConfigProblem[];
  readonly files: string[];
}

const SECTIONS = ['targets', 'notifications'];

function readNotifications(
  document: ConfigDocument,
  { environment }: Outside,
  { pipelines }: Pick<SettingsReading, 'pipelines'>,
): NotificationsReading {
  const targetItems = readItems(document, 'targets');
  const notificationItems = readItems(document, 'notifications');
  const reading: NotificationsReading = {
    targets: [],
    notifications: [],
    problems: [
      ...document.problems,
      ...unknownSections(document),
      ...targetItems.problems,
      ...notificationItems.problems,
      ...namedTargets(document, targetItems, notificationItems.items),
    ],
    warnings: [],
    files: [],
  };
  for (const item of targetItems.items) {
    const { target, problems, warnings, files } = readTarget(document, item, environment);
    if (target !== undefined) reading.targets.push(target);
    reading.problems.push(...problems);
    reading.warnings.push(...warnings);
    reading.files.push(...files);
  }
  const intervals = pullIntervals(pipelines);
  const origin = originIn({ ...document, base: [] });
  for (const item of notificationItems.items) {
    const { notification, problems } = readNotification(document, item);
    reading.problems.push(...problems);
    if (notification === undefined) continue;
    reading.notifications.push(notification);
    const window = checkWindow(notification, item, intervals, origin);
    reading.problems.push(...window.problems);
    reading.warnings.push(...window.warnings);
  }
  return reading;
}

function unknownSections(document: ConfigDocument): ConfigProblem[] {
  return Object.keys(document.value)
    .filter(key => !SECTIONS.includes(key))
    .map(key => ({
      file: document.file,
      path: formatPath([key]),
      ...document.places.ofKey([key]),
      message: unknownKeyText(key, SECTIONS),
    }));
}

/** Targets that are wrong count by their ids; when their list is unreadable nothing can be said. */
function namedTargets(
  document: ConfigDocument,
  targets: Items,
  notifications: readonly Item[],
): ConfigProblem[] {
  if (!targets.readable) return [];
  const ids = new Set(targets.items.flatMap(({ id }) => id ?? []));
  return unknownTargets(notifications, ids, originIn({ ...document, base: [] }));
}
