import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { openStorage } from '../../src/storage/open.ts';
import type { Storage } from '../../src/storage/storage.ts';

export interface TestStorage {
  readonly storage: Storage;
  /** The data folder; it goes with `close`. */
  readonly folder: string;
  close(): Promise<void>;
}

/** Storage in a folder of its own, on the files it is shipped with. */
export async function openTestStorage(): Promise<TestStorage> {
  const folder = await mkdtemp(join(tmpdir(), 'headgate-storage-'));
  const storage = await openStorage({
    url: 'sqlite:headgate.db',
    dataFolder: folder,
    logger: silentLogger,
    clock: systemClock,
  });
  return {
    storage,
    folder,
    async close() {
      await storage.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
