import type { MonotonicIds } from '../lib/ids.ts';
import type { WorkspaceStorage } from '../storage/storage.ts';

/** Deliveries of a subject go out in the order of their ids, so those of this process must follow all that are stored. */
export async function continueIds(
  ids: MonotonicIds,
  { deliveries, incidents }: WorkspaceStorage,
): Promise<void> {
  const newest = { offset: 0, limit: 1 };
  for (const { rows } of [await deliveries.list({}, newest), await incidents.list({}, newest)])
    for (const { id } of rows) ids.follow(id);
}
