import { resolve } from 'node:path';
import { systemClock } from '../lib/clock.ts';
import { silentLogger } from '../lib/logger.ts';
import type { StorageOptions } from '../storage/open.ts';
import { type Folders, settingsIn } from './offline.ts';

/** Where an installation keeps what it must not lose, as headgate.yml says. */
export interface Kept {
  readonly storage: StorageOptions;
  /** File of the key ring. */
  readonly keyRing: string;
}

export function keptBy(folders: Folders): Kept {
  const { storage } = settingsIn(folders.config);
  const dataFolder = resolve(folders.data);
  return {
    storage: { url: storage.url, dataFolder, logger: silentLogger, clock: systemClock },
    keyRing: resolve(dataFolder, storage.keyRing),
  };
}
