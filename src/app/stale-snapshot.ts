import { readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { stagePrivateFile } from '../lib/private-file.ts';
import { BEATS_FILE } from '../notifications/beat-file.ts';
import { SNAPSHOT_FILE } from '../pipelines/monitor.ts';

/** Holds the epoch in which the process of this data folder led last. */
const FILE = 'last-epoch';

/**
 * The snapshot of a data folder is good for the process that leads next after it was written. When another has led
 * meanwhile, its counters and silences are of long ago: then counting begins anew, as at a first start.
 */
export async function dropStaleSnapshot(dataFolder: string, epoch: number): Promise<void> {
  const path = join(dataFolder, FILE);
  const last = Number(await readFile(path, 'utf8').catch(() => String(epoch - 1)));
  if (last !== epoch && last !== epoch - 1)
    for (const file of [SNAPSHOT_FILE, BEATS_FILE]) await rm(join(dataFolder, file), { force: true });
  await rename(await stagePrivateFile(path, `${epoch}\n`), path);
}
