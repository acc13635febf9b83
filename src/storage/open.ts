import { resolve } from 'node:path';
import type { Kysely } from 'kysely';
import { createBus } from '../lib/bus.ts';
import type { Clock } from '../lib/clock.ts';
import { AppError, reasonOf } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import { createMutex } from '../lib/mutex.ts';
import type { Secret } from '../lib/secret.ts';
import { auditStore } from './audit.ts';
import type { Backend } from './backend.ts';
import { groupCommits } from './commits.ts';
import { credentialStore } from './credentials.ts';
import { createDataFolder } from './data-folder.ts';
import { deliveryStore } from './deliveries.ts';
import { documentStore } from './documents.ts';
import { eventStore } from './events.ts';
import { groupStore } from './groups.ts';
import { incidentStore } from './incidents.ts';
import { ingestTokenStore } from './ingest-tokens.ts';
import { holdsSealed, readInstanceValue, readKeys } from './instance.ts';
import { keptTargetStore } from './kept-targets.ts';
import { endOthers, leaseStore } from './leases.ts';
import { messageStore } from './messages.ts';
import { migrate } from './migrate.ts';
import { MIGRATIONS } from './migrations/index.ts';
import { minuteStore } from './minutes.ts';
import { nodeStore } from './nodes.ts';
import { organizationStore } from './organizations.ts';
import { placeOf } from './place.ts';
import { ageingStore } from './retention.ts';
import { secretsStore } from './secrets.ts';
import { sessionStore } from './sessions.ts';
import { openSqlite } from './sqlite.ts';
import type { Fact, Storage } from './storage.ts';
import type { Database } from './tables.ts';
import { runTransactions } from './transactions.ts';
import { userStore } from './users.ts';
import { versionStore } from './versions.ts';

export interface StorageOptions {
  /** `sqlite:<name>.db`, a file directly below the data folder, or `postgres://user:password@host:port/database`. */
  readonly url: string | Secret;
  /** Created with mode 0700 when missing. */
  readonly dataFolder: string;
  readonly logger: Logger;
  readonly clock: Clock;
  /** Told how many operations each batch holds and how long it took in ms. Left out, nobody is. */
  readonly batched?: (operations: number, ms: number) => void;
}

/** Opens the database for whoever writes; its tables may be missing or old. Rejects as `openStorage` does. */
export async function openBackend({ url, dataFolder, clock, logger }: StorageOptions): Promise<Backend> {
  const place = placeOf(url);
  if (place.kind === 'sqlite') return openSqlite(resolve(dataFolder, place.file), logger);
  await createDataFolder(resolve(dataFolder));
  // Loaded only where it is used: the client costs megabytes that SQLite's users need not pay.
  const { openPostgres } = await import('./postgres.ts');
  return openPostgres(place.url, { clock, logger });
}

type RunOptions = Pick<StorageOptions, 'batched' | 'clock' | 'logger'>;

function storageOn(backend: Backend, { batched = () => {}, clock, logger }: RunOptions): Storage {
  const { reader, tenure } = backend;
  const bus = createBus<Fact>(error =>
    logger.error({ reason: reasonOf(error) }, 'a listener to committed facts failed'),
  );
  const mutex = createMutex();
  async function run(plans: Parameters<Backend['run']>[0]) {
    const begun = clock.monotonic();
    const refusals = await backend.run(plans);
    batched(plans.length, clock.monotonic() - begun);
    return refusals;
  }
  const commits = groupCommits(mutex, run, bus.publish);
  const transaction = runTransactions(mutex, backend, { clock, publish: bus.publish });
  const keeping = backend.keeper === undefined ? mutex : createMutex();
  const leasing = {
    tenure,
    reader,
    async write<Result>(work: (db: Kysely<Database>) => Promise<Result>): Promise<Result> {
      assertOpen();
      return keeping.run(() => work(backend.keeper ?? backend.writer));
    },
  };
  let isListening = false;
  let closing: Promise<void> | undefined;

  function assertOpen(): void {
    if (closing !== undefined) throw new AppError('unavailable', 'the storage is closed');
  }

  async function close(): Promise<void> {
    await commits.drained();
    await keeping.idle();
    await mutex.run(backend.close);
  }

  return {
    in: workspace => ({
      incidents: incidentStore(reader, workspace),
      events: eventStore(reader, workspace),
      deliveries: deliveryStore(reader, workspace),
      groups: groupStore(reader, workspace),
      keptTargets: keptTargetStore(reader, workspace),
      messages: messageStore(reader, workspace),
      secrets: secretsStore(reader, workspace),
      ingestTokens: ingestTokenStore(reader, workspace),
      minutes: minuteStore(reader, workspace),
      document: documentStore(reader, workspace),
      versions: versionStore(reader, workspace),
      audit: auditStore(reader, workspace),
      ageing: ageingStore(reader, workspace),
    }),
    users: userStore(reader),
    organizations: organizationStore(reader),
    credentials: credentialStore(reader),
    sessions: sessionStore(reader),
    keys: () => readKeys(reader),
    instanceValue: name => readInstanceValue(reader, name),
    holdsSealed: () => holdsSealed(reader),
    async commit(operation, lease) {
      assertOpen();
      await commits.commit(operation, lease);
    },
    async transaction(work, lease) {
      assertOpen();
      return transaction(work, lease);
    },
    leases: leaseStore({
      ...leasing,
      async changed(db, facts) {
        await backend.notify(db, facts);
        facts.forEach(bus.publish);
      },
    }),
    nodes: nodeStore(leasing),
    subscribe(listener) {
      assertOpen();
      if (!isListening) backend.listen(bus.publish);
      isListening = true;
      return bus.subscribe(listener);
    },
    size: backend.size,
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
    await backend.migrating(db => migrate(db, MIGRATIONS));
    if (backend.tenure.isAlone) await endOthers(backend.writer);
    await backend.openReader();
  } catch (error) {
    await backend.close();
    throw error;
  }
  return storageOn(backend, options);
}
