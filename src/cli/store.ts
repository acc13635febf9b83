import { existsSync } from 'node:fs';
import { userInfo } from 'node:os';
import { resolve } from 'node:path';
import { ConfigurationInvalid } from '../app/configuration-invalid.ts';
import { DEFAULT_WORKSPACE } from '../app/default-workspace.ts';
import { SETTINGS_FILE } from '../config/configuration.ts';
import { readSettings } from '../config/read/settings.ts';
import type { Settings } from '../config/settings.ts';
import { readConfigDocument } from '../config/yaml/document.ts';
import { systemClock } from '../lib/clock.ts';
import { AppError } from '../lib/errors.ts';
import { type KeyRing, openKeyRing } from '../lib/keyring.ts';
import { silentLogger } from '../lib/logger.ts';
import { openStorage, type StorageOptions } from '../storage/open.ts';
import type { Storage } from '../storage/storage.ts';

/** Folders of an installation whose server does not run. */
export interface Folders {
  readonly config: string;
  readonly data: string;
}

/** The store of an installation, held by this process. */
export interface OpenStore {
  readonly storage: Storage;
  readonly workspace: string;
  /** Creates the key ring when the store holds nothing encrypted yet. */
  readonly openKeyRing: () => Promise<KeyRing>;
}

/**
 * Opens the store that headgate.yml names, works on it and closes it. Only that file is read: a secret can be set
 * before the configuration that needs it is valid. Throws `ConfigurationInvalid`, `conflict` while a server holds the
 * store, or `not-found` when there is none and `mayCreate` is false.
 */
export async function withStore<Result>(
  folders: Folders & { readonly mayCreate: boolean },
  work: (offline: OpenStore) => Promise<Result>,
): Promise<Result> {
  const settings = settingsIn(folders.config);
  const dataFolder = resolve(folders.data);
  if (!folders.mayCreate && !existsSync(dataFolder))
    throw new AppError(
      'not-found',
      `there is no data directory '${dataFolder}'; name the right one with --data`,
    );
  const storage = await openStorage({
    url: settings.storage.url,
    dataFolder,
    logger: silentLogger,
    clock: systemClock,
  });
  try {
    return await work({
      storage,
      workspace: DEFAULT_WORKSPACE,
      openKeyRing: async () =>
        openKeyRing({
          path: resolve(dataFolder, settings.storage.keyRing),
          mayCreate: !(await storage.hasSealedValues()),
        }),
    });
  } finally {
    await storage.close();
  }
}

/** Reads headgate.yml alone, so that errors of other files do not matter. Throws `ConfigurationInvalid`. */
function settingsIn(folder: string): Settings {
  const document = readConfigDocument(folder, SETTINGS_FILE);
  const { settings, problems } = readSettings(document, { environment: process.env, flags: {} });
  const all = [...document.problems, ...problems];
  if (settings === undefined || all.length > 0) throw new ConfigurationInvalid(all);
  return settings;
}

/** Places of durable data, from headgate.yml. */
export interface StorePaths {
  readonly storage: StorageOptions;
  /** File of the key ring. */
  readonly keyRing: string;
}

export function storePathsOf(folders: Folders): StorePaths {
  const { storage } = settingsIn(folders.config);
  const dataFolder = resolve(folders.data);
  return {
    storage: { url: storage.url, dataFolder, logger: silentLogger, clock: systemClock },
    keyRing: resolve(dataFolder, storage.keyRing),
  };
}

/** The operating system's user, distinguished from users of Headgate; in a container it may have no name. */
export function systemUser(): string {
  try {
    return `cli:${userInfo().username}`;
  } catch {
    return `cli:${process.getuid?.() ?? 'unknown'}`;
  }
}
