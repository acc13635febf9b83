import { accessSync, constants, statSync } from 'node:fs';
import { join } from 'node:path';
import { type AddressPolicy, createAddressGuard } from '../lib/address-guard.ts';
import type { Clock } from '../lib/clock.ts';
import type { Notification } from '../notifications/notification.ts';
import type { Target } from '../targets/target.ts';
import { checkWindow, crossCheck, withStandIns } from './cross-checks.ts';
import type { Declared, RawItems } from './declared.ts';
import { type ConfigDocument, readDocument } from './document.ts';
import type { Finding } from './finding.ts';
import { deepFreeze } from './freeze.ts';
import type { Origin } from './issues.ts';
import { type Item, readItems } from './items.ts';
import { forbiddenAddresses } from './literal-addresses.ts';
import { originIn } from './origin.ts';
import { type ConfigProblem, inOrder } from './problems.ts';
import { readDeclared } from './read-declared.ts';
import { readNotification, readTarget } from './read-notifications.ts';
import { type Outside, pullIntervals, readSettings, type SettingsReading } from './read-settings.ts';
import { unknownSections } from './sections.ts';
import type { Settings } from './settings.ts';
import { targetGraph } from './target-graph.ts';
import { whyOf } from './text.ts';

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
  /** Texts that count in place of what is on disk. */
  readonly texts?: Texts;
}

export type Texts = Readonly<Partial<Record<FileName, string>>>;

/**
 * Reads the files of a folder, a missing one counting as empty, and checks everything: all problems of all
 * files come at once, in the order they stand there. Never throws for what a file holds.
 */
export function loadConfiguration(sources: Sources, clock: Pick<Clock, 'now'>): LoadResult {
  const { folder } = sources;
  const names = configurationFiles(folder);
  const trouble = folderProblem(folder);
  if (trouble !== undefined) return { ok: false, problems: [trouble], warnings: [], files: names };

  const document = (name: FileName) => readDocument(folder, name, sources.texts?.[name]);
  const settingsDocument = document(SETTINGS_FILE);
  const reading = readSettings(settingsDocument, sources);
  const rest = readNotifications(document(NOTIFICATIONS_FILE), sources, reading);
  const inputs = readDeclared(document(INPUTS_FILE), 'input');
  const outputs = readDeclared(document(OUTPUTS_FILE), 'output');
  const problems = [settingsDocument, reading, rest, inputs, outputs].flatMap(part => part.problems);
  const warnings = inOrder([...reading.warnings, ...rest.warnings], names);
  const files = [...names, ...reading.files, ...rest.files];
  if (reading.settings === undefined || problems.length > 0)
    return { ok: false, problems: inOrder(problems, names), warnings, files };
  const configuration = deepFreeze({
    settings: reading.settings,
    targets: rest.targets,
    notifications: rest.notifications,
    inputs: inputs.declared,
    outputs: outputs.declared,
    raw: {
      settings: { ...settingsDocument.value },
      targets: rawById(rest.targetItems),
      notifications: rawById(rest.notificationItems),
      inputs: rawById(inputs.items),
      outputs: rawById(outputs.items),
    },
    warnings,
    loadedAt: new Date(clock.now()).toISOString(),
  });
  return { ok: true, configuration, warnings, files, settingOrigin: reading.origin };
}

/** Everything counts by its id; items without one are errors by now. */
const rawById = (items: readonly Item[]): RawItems['targets'] =>
  new Map(items.flatMap(({ id, value }) => (id === undefined ? [] : [[id, deepFreeze({ ...value })]])));

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
    return problem(`the folder of the configuration cannot be read: ${whyOf(error)}`);
  }
}

/** While the settings are unreadable only what is never allowed can be told. */
const ANY_ADDRESS: AddressPolicy = { privateAddresses: 'allow', allowedAddresses: [] };

interface NotificationsReading {
  readonly targets: Target[];
  readonly notifications: Notification[];
  readonly targetItems: readonly Item[];
  readonly notificationItems: readonly Item[];
  readonly problems: ConfigProblem[];
  readonly warnings: ConfigProblem[];
  readonly files: string[];
}

const SECTIONS = ['targets', 'notifications'];

function readNotifications(
  document: ConfigDocument,
  outside: Outside,
  { pipelines, settings }: Pick<SettingsReading, 'pipelines' | 'settings'>,
): NotificationsReading {
  const targetItems = readItems(document, 'targets');
  const notificationItems = readItems(document, 'notifications');
  const graph = targetGraph(targetItems.items);
  const origin = originIn({ ...document, base: [] });
  const placed = ({ path, message }: Finding): ConfigProblem => ({ ...origin.place(path), message });
  // While the list of targets is unreadable nothing can be said of what they are.
  const crossed = targetItems.readable
    ? crossCheck({ targets: targetItems.items, notifications: notificationItems.items, graph })
    : { problems: [], warnings: [] };
  const reading: NotificationsReading = {
    targets: [],
    notifications: [],
    targetItems: targetItems.items,
    notificationItems: notificationItems.items,
    problems: [
      ...document.problems,
      ...unknownSections(document, SECTIONS),
      ...targetItems.problems,
      ...notificationItems.problems,
      ...crossed.problems.map(placed),
    ],
    warnings: crossed.warnings.map(placed),
    files: [],
  };
  const guard = createAddressGuard(settings?.delivery ?? ANY_ADDRESS);
  for (const item of targetItems.items) {
    const { target, problems, warnings, files } = readTarget(document, item, outside);
    reading.problems.push(...problems);
    reading.warnings.push(...warnings);
    reading.files.push(...files);
    if (target === undefined) continue;
    reading.targets.push(target);
    const forbidden = forbiddenAddresses(target.settings, item.value, guard);
    reading.warnings.push(
      ...forbidden.map(({ path, message }) => placed({ path: [...item.path, ...path], message })),
    );
  }
  const intervals = pullIntervals(pipelines);
  for (const item of notificationItems.items) {
    const { notification, problems, warnings } = readNotification(document, item);
    reading.problems.push(...problems);
    reading.warnings.push(...warnings);
    if (notification === undefined) continue;
    reading.notifications.push(withStandIns(notification, graph));
    const window = checkWindow(notification, item, intervals, origin);
    reading.problems.push(...window.problems);
    reading.warnings.push(...window.warnings);
  }
  return reading;
}
