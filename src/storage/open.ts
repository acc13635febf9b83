import { resolve } from 'node:path';
import type { Clock } from '../lib/clock.ts';
import { AppError } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import type { Secret } from '../lib/secret.ts';
import type { Backend } from './backend.ts';
import { groupCommits } from './commits.ts';
import { createDataFolder } from './data-folder.ts';
import { deliveryStore } from './deliveries.ts';
import { eventStore } from './events.ts';
import { incidentStore } from './incidents.ts';
import { holdsSealed, readInstanceValue, readKeys } from './instance.ts';
import { messageStore } from './messages.ts';
import { migrate } from './migrate.ts';
import { MIGRATIONS } from './migrations/index.ts';
import { ageingStore } from './retention.ts';
import { secretsStore } from './secrets.ts';
import { openSqlite } from './sqlite.ts';
import type { Storage } from './storage.ts';
import { runTransactions } from './transactions.ts';
import { createTurns } from './turns.ts';
import { userStore } from './users.ts';
import { versionStore } from './versions.ts';

export interface StorageOptions {
  /** `sqlite:<name>.db`, a file directly below the data folder, or `postgres://user:password@host:port/database`. */
  readonly url: string | Secret;
  /** Created with mode 0700 when missing. */
  readonly dataFolder: string;
  readonly logger: Logger;
  readonly clock: Clock;
}

const POSTGRES_URL = /^postgres(ql)?:\/\//i;
/** The ending keeps the database apart from the lock and the other files of the folder. */
const SQLITE_URL = /^sqlite:([\w-][\w.-]*\.db)$/;

async function openBackend(options: StorageOptions): Promise<Backend> {
  const { dataFolder, logger, clock } = options;
  const url = typeof options.url === 'string' ? options.url : options.url.reveal();
  if (POSTGRES_URL.test(url)) {
    await createDataFolder(resolve(dataFolder));
    // Loaded only where it is used: the client costs megabytes that SQLite's users need not pay.
    const { openPostgres } = await import('./postgres.ts');
    return openPostgres(url, clock);
  }
  const file = SQLITE_URL.exec(url)?.[1];
  if (file === undefined) {
    // The whole URL may hold a password.
    const scheme = /^[a-z0-9+.-]+:/i.exec(url)?.[0] ?? 'no scheme';
    throw new AppError(
      'invalid-request',
      `storage.url (${scheme}) is not allowed; write sqlite:<name>.db, a file directly below the data directory, ` +
        'or postgres://user:password@host:port/database',
    );
  }
  return openSqlite(resolve(dataFolder, file), logger);
}

function storageOn(backend: Backend, clock: Clock): Storage {
  const { reader } = backend;
  const turns = createTurns();
  const commits = groupCommits(turns, backend.run);
  const transaction = runTransactions(turns, backend.writer, clock);
  let closing: Promise<void> | undefined;

  function assertOpen(): void {
    if (closing !== undefined) throw new AppError('unavailable', 'the storage is closed');
  }

  async function close(): Promise<void> {
    await commits.drained();
    await turns.take(backend.close);
  }

  return {
    in: workspace => ({
      incidents: incidentStore(reader, workspace),
      events: eventStore(reader, workspace),
      deliveries: deliveryStore(reader, workspace),
      messages: messageStore(reader, workspace),
      secrets: secretsStore(reader, workspace),
      versions: versionStore(reader, workspace),
      ageing: ageingStore(reader, workspace),
    }),
    users: userStore(reader),
    keys: () => readKeys(reader),
    instanceValue: name => readInstanceValue(reader, name),
    holdsSealed: () => holdsSealed(reader),
    async commit(operation) {
      assertOpen();
      await commits.commit(operation);
    },
    async transaction(work) {
      assertOpen();
      return transaction(work);
    },
    close() {
      closing ??= close();
      return closing;
    },
  };
}

/**
 * Opens the storage, creates or migrates its tables, and holds it against other processes until it is closed.
 * Rejects with `invalid-request` for a URL that is not allowed, `conflict` when another process holds it or a newer
 * version wrote it, `unavailable` when the place cannot be used; each names the place and the remedy.
 */
export async function openStorage(options: StorageOptions): Promise<Storage> {
  const backend = await openBackend(options);
  try {
    await backend.migrating(db => migrate(db, MIGRATIONS));
    await backend.openReader();
  } catch (error) {
    await backend.close();
    throw error;
  }
  return storageOn(backend, options.clock);
}
