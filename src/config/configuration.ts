import { join } from 'node:path';
import type { Problem } from '../lib/errors.ts';
import type { InhibitionRule } from '../notifications/inhibition/inhibition-rule.ts';
import type { Notification } from '../notifications/notification.ts';
import type { Target } from '../targets/target.ts';
import type { Overridden } from './overrides.ts';
import type { ConfigProblem } from './problems.ts';
import type { Settings } from './settings.ts';

export const SETTINGS_FILE = 'headgate.yml';
export const NOTIFICATIONS_FILE = 'notifications.yml';
export const INPUTS_FILE = 'inputs.yml';
export const OUTPUTS_FILE = 'outputs.yml';

/** Every file of a configuration, in the order their problems are listed. */
export const FILES = [SETTINGS_FILE, NOTIFICATIONS_FILE, INPUTS_FILE, OUTPUTS_FILE] as const;
export type FileName = (typeof FILES)[number];
export type FileTexts = Readonly<Partial<Record<FileName, string>>>;

/** Texts for those who may not change what stands in some of the files. */
export interface HidingJob {
  readonly texts: readonly FileTexts[];
  /** In these only the hosts of addresses are shown. */
  readonly files: readonly FileName[];
}

export const configurationFiles = (folder: string): string[] => FILES.map(name => join(folder, name));

/** Characters of all texts together. */
export const charactersOf = (texts: FileTexts): number =>
  FILES.reduce((sum, name) => sum + (texts[name]?.length ?? 0), 0);

/** A whole configuration, frozen where it is plain. */
export interface Configuration {
  readonly settings: Settings;
  readonly targets: readonly Target[];
  readonly notifications: readonly Notification[];
  readonly inhibitions: readonly InhibitionRule[];
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

/** An input or output that a file declares. Open: whatever else the file says of it is kept in `value`. */
export interface Declared {
  readonly kind: 'input' | 'output';
  readonly id: string;
  readonly type: string;
  readonly disabled: boolean;
  readonly group: string;
  /** As the file has it, `id` always among its keys. */
  readonly value: Readonly<Record<string, unknown>>;
}

type ById = ReadonlyMap<string, Readonly<Record<string, unknown>>>;

/** Items as they stand in the files, references unresolved, `id` always among their keys. */
export interface RawItems {
  readonly targets: ById;
  readonly notifications: ById;
  readonly inhibitions: ById;
  readonly inputs: ById;
  readonly outputs: ById;
  /** The whole of headgate.yml. */
  readonly settings: Readonly<Record<string, unknown>>;
}

/** How the last load went. */
export interface ConfigurationStatus {
  readonly state: 'ok' | 'error';
  /** ISO time of the active configuration; null before the first. */
  readonly loadedAt: string | null;
  readonly errors: readonly ConfigProblem[];
  readonly warnings: readonly ConfigProblem[];
}

/** Errors of a configuration, and what may be wrong with it. */
export interface CheckFindings {
  readonly ok: boolean;
  readonly errors: readonly ConfigProblem[];
  readonly warnings: readonly ConfigProblem[];
}
