import { isLeaseLost, leaseLost } from '../storage/lease-lost.ts';
import type { Storage } from '../storage/storage.ts';
import type { Tenure } from './leadership.ts';

/**
 * The store as one who leads may write it: every write is refused once another may lead, first by this process's own
 * clock, and for certain by the database's in the transaction itself.
 */
export function fencedStorage(storage: Storage, tenure: Tenure): Storage {
  async function fenced<Result>(write: () => Promise<Result>): Promise<Result> {
    if (!tenure.holds()) throw leaseLost(tenure.lease);
    try {
      return await write();
    } catch (error) {
      if (isLeaseLost(error)) tenure.lost();
      throw error;
    }
  }
  return {
    ...storage,
    commit: operation => fenced(() => storage.commit(operation, tenure.lease)),
    transaction: work => fenced(() => storage.transaction(work, tenure.lease)),
  };
}
