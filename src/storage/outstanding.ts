import { AppError } from '../lib/errors.ts';
import { migrate, migrationsRun } from './migrate.ts';
import { MIGRATIONS } from './migrations/index.ts';
import { openBackend, type StorageOptions } from './open.ts';
import { openView, type ViewOptions } from './open-view.ts';

const notAmong = (ran: readonly string[]): readonly string[] =>
  Object.keys(MIGRATIONS).filter(name => !ran.includes(name));

/** The migrations that the store has not seen, all of them when there is no store. A server may run meanwhile. */
export async function outstandingMigrations(options: ViewOptions): Promise<readonly string[]> {
  try {
    const view = await openView(options);
    try {
      return notAmong(await migrationsRun(view.db));
    } finally {
      await view.close();
    }
  } catch (error) {
    if (error instanceof AppError && error.code === 'not-found') return notAmong([]);
    throw error;
  }
}

/** Runs the migrations that the store has not seen, and answers which. Rejects as `openStorage` does. */
export async function runMigrations(options: StorageOptions): Promise<readonly string[]> {
  const backend = await openBackend(options);
  let due: readonly string[] = [];
  try {
    await backend.migrating(async db => {
      due = notAmong(await migrationsRun(db));
      await migrate(db, MIGRATIONS);
    });
  } finally {
    await backend.close();
  }
  return due;
}
