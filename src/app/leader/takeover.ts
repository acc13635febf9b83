import { readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { MonotonicIds } from '../../lib/ids.ts';
import { stagePrivateFile } from '../../lib/private-file.ts';
import { HEARTBEATS_FILE } from '../../notifications/rules/heartbeats-file.ts';
import type { WorkspaceStorage } from '../../storage/storage.ts';

/**
 * Deliveries of a subject go out in the order of their ids, and the last version of the configuration is the one with
 * the greatest id, so those of this process must follow all that are stored.
 */
export async function continueIds(
  ids: MonotonicIds,
  { deliveries, incidents, versions }: WorkspaceStorage,
): Promise<void> {
  const newest = { offset: 0, limit: 1 };
  const pages = [deliveries.list({}, newest), incidents.list({}, newest), versions.list(newest)];
  for (const { rows } of await Promise.all(pages)) for (const { id } of rows) ids.advancePast(id);
}

/** Below the data folder, where one process has the store. */
export const SNAPSHOT_FILE = 'snapshot';

/** Holds the last epoch in which the process of this data folder led. */
const EPOCH_FILE = 'last-epoch';

/**
 * What a leader keeps in its folder is valid only for the next term. When another process has led since, or the store is
 * another one, its counters, silences and times of heartbeats are outdated.
 */
export async function dropStaleFiles(dataFolder: string, epoch: number): Promise<void> {
  const path = join(dataFolder, EPOCH_FILE);
  const last = Number(await readFile(path, 'utf8').catch(() => String(epoch - 1)));
  if (last !== epoch && last !== epoch - 1)
    for (const file of [SNAPSHOT_FILE, HEARTBEATS_FILE]) await rm(join(dataFolder, file), { force: true });
  await rename(await stagePrivateFile(path, `${epoch}\n`), path);
}
