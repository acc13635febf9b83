import { resolve } from 'node:path';
import type { Kysely } from 'kysely';
import { createBus } from '../lib/bus.ts';
import type { Clock } from '../lib/clock.ts';
import { AppError, reasonOf } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import { createMutex } from '../lib/mutex.ts';
import type { Secret } from '../lib/secret.ts';
import type { Backend } from './backend.ts';
import { createCommitQueue } from './commit-queue.ts';
import { createDataFolder } from './data-folder.ts';
import { MIGRATIONS } from './migrations/index.ts';
import { migrate } from './migrations/migrate.ts';
import { openSqlite } from './sqlite/sqlite.ts';
import { installationStorage, type Storage, workspaceStorage } from './storage.ts';
import { parseStorageUrl } from './storage-url.ts';
import { leaseStore, removeLeftoverLeases } from './stores/leases.ts';
import { nodeStore } from './stores/nodes.ts';
import type { Database } from './tables.ts';
import { runTransactions } from './transactions.ts';
import type { CommittedChange } from './types.ts';

export interface StorageOptions {
  /** `sqlite:<name>.db`, a file directly below the data folder, or `postgres://user:password@host:port/database`. */
  readonly url: string | Secret;
  /** Created with mode 0700 when missing. */
  readonly dataFolder: string;
  readonly logger: Logger;
  readonly clock: Clock;
  /** What is written need not outlive the process, waits for no disk, and blocks the thread that calls; of SQLite only. */
  readonly isTemporary?: boolean;
  /** Called with the number of operations of each batch and how long it took in ms. */
  readonly onBatch?: (operations: number, ms: number) => void;
}

/** Opens the database for writing; its tables may be missing or old. Rejects as `openStorage` does. */
export async function openBackend(options: StorageOptions): Promise<Backend> {
  const { url, dataFolder, clock, logger, isTemporary } = options;
  const location = parseStorageUrl(url);
  if (location.kind === 'sqlite') return openSqlite(resolve(dataFolder, location.file), logger, isTemporary);
  await createDataFolder(resolve(dataFolder));
  // Loaded only where it is used: the client costs megabytes that SQLite's users need not pay.
  const { openPostgres } = await import('./postgres/postgres.ts');
  return openPostgres(location.url, { clock, logger });
}

type RunOptions = Pick<StorageOptions, 'onBatch' | 'clock' | 'logger'>;

function createStorage(backend: Backend, { onBatch = () => {}, clock, logger }: RunOptions): Storage {
  const { reader, leaseClock } = backend;
  const bus = createBus<CommittedChange>(error =>
    logger.error({ reason: reasonOf(error) }, 'a listener to committed changes failed'),
  );
  const publish = (change: CommittedChange): void => bus.publish(change);
  const mutex = createMutex();
  async function run(plans: Parameters<Backend['run']>[0]) {
    const begun = clock.monotonic();
    const refusals = await backend.run(plans);
    onBatch(plans.length, clock.monotonic() - begun);
    return refusals;
  }
  const commitQueue = createCommitQueue(mutex, run, publish);
  const transaction = runTransactions(mutex, backend, { clock, publish });
  const leaseMutex = backend.leaseWriter === undefined ? mutex : createMutex();
  const leaseOptions = {
    leaseClock,
    reader,
    async write<Result>(work: (db: Kysely<Database>) => Promise<Result>): Promise<Result> {
      assertOpen();
      return leaseMutex.run(() => work(backend.leaseWriter ?? backend.writer));
    },
  };
  let isListening = false;
  let closing: Promise<void> | undefined;

  function assertOpen(): void {
    if (closing !== undefined) throw new AppError('unavailable', 'the storage is closed');
  }

  async function close(): Promise<void> {
    await commitQueue.drained();
    await leaseMutex.idle();
    await mutex.run(() => backend.close());
  }

  return {
    in: workspace => workspaceStorage(reader, workspace),
    ...installationStorage(reader),
    async commit(operation, lease) {
      assertOpen();
      await commitQueue.commit(operation, lease);
    },
    async transaction(work, lease) {
      assertOpen();
      return transaction(work, lease);
    },
    leases: leaseStore({
      ...leaseOptions,
      async onChange(db, changes) {
        await backend.notify(db, changes);
        changes.forEach(publish);
      },
    }),
    nodes: nodeStore(leaseOptions),
    subscribe(listener) {
      assertOpen();
      if (!isListening) backend.listen(publish);
      isListening = true;
      return bus.subscribe(listener);
    },
    size: () => backend.size(),
    close() {
      closing ??= close();
      return closing;
    },
  };
}

/**
 * Opens the storage and creates or migrates its tables. A SQLite file is held against other processes until it is closed;
 * a PostgreSQL database may have several.
 * Rejects with `invalid-request` for a URL that is not allowed, `conflict` when another process holds it or a newer
 * version wrote it, `unavailable` when the place cannot be used; each names the place and the remedy.
 */
export async function openStorage(options: StorageOptions): Promise<Storage> {
  const backend = await openBackend(options);
  try {
    await backend.withMigrationLock(db => migrate(db, MIGRATIONS));
    if (backend.leaseClock.isExclusive) await removeLeftoverLeases(backend.writer);
    await backend.openReader();
  } catch (error) {
    await backend.close();
    throw error;
  }
  return createStorage(backend, options);
}
