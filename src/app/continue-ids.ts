import type { MonotonicIds } from '../lib/ids.ts';
import type { WorkspaceStorage } from '../storage/storage.ts';

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
  for (const { rows } of await Promise.all(pages)) for (const { id } of rows) ids.follow(id);
}
