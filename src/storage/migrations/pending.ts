import { AppError } from '../../lib/errors.ts';
import { openBackend, type StorageOptions } from '../open.ts';
import { openView, type ViewOptions } from '../open-view.ts';
import { MIGRATIONS } from './index.ts';
import { assertMadeSince02, migrate, migrationsRun } from './migrate.ts';

const notRun = (ran: readonly string[]): readonly string[] =>
  Object.keys(MIGRATIONS).filter(name => !ran.includes(name));

/**
 * The migrations that the store has not seen, all of them when there is no store. A server may run meanwhile. Rejects with
 * `conflict` for a store made before 0.2.
 */
export async function pendingMigrations(options: ViewOptions): Promise<readonly string[]> {
  try {
    const view = await openView(options);
    try {
      const ran = await migrationsRun(view.db);
      assertMadeSince02(ran);
      return notRun(ran);
    } finally {
      await view.close();
    }
  } catch (error) {
    if (error instanceof AppError && error.code === 'not-found') return notRun([]);
    throw error;
  }
}

/** Runs the migrations that the store has not seen, and answers which. Rejects as `openStorage` does. */
export async function runMigrations(options: StorageOptions): Promise<readonly string[]> {
  const backend = await openBackend(options);
  let pending: readonly string[] = [];
  try {
    await backend.withMigrationLock(async db => {
      pending = notRun(await migrationsRun(db));
      await migrate(db, MIGRATIONS);
    });
  } finally {
    await backend.close();
  }
  return pending;
}
