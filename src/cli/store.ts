import { existsSync } from 'node:fs';
import { userInfo } from 'node:os';
import { resolve } from 'node:path';
import { DEFAULT_WORKSPACE } from '../app/default-workspace.ts';
import { settingsIn } from '../app/settings-in.ts';
import type { Settings } from '../config/settings.ts';
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
  const settings = settingsOf(folders);
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

const settingsOf = (folders: Folders): Settings => settingsIn(folders.config, { environment: process.env });

/** Places of durable data, from headgate.yml. */
export interface StorePaths {
  readonly storage: StorageOptions;
  /** File of the key ring. */
  readonly keyRing: string;
}

export function storePathsOf(folders: Folders): StorePaths {
  const { storage } = settingsOf(folders);
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
