import { dirname, join } from 'node:path';
import { Kysely, sql } from 'kysely';
import { AppError } from '../../lib/errors.ts';
import type { Logger } from '../../lib/logger.ts';
import type { Backend } from '../backend.ts';
import { createDataFolder } from '../data-folder.ts';
import type { Plan } from '../operations/plan.ts';
import { leaseLost } from '../stores/leases.ts';
import type { Database } from '../tables.ts';
import { sqliteDialect } from './dialect.ts';
import { explainFailure, isConflict } from './errors.ts';
import { LEASE_LOST, pack, type WorkerFailure } from './protocol.ts';
import { connectInThread, startWorkers, type WorkerClient } from './worker-client.ts';

/** The worker is a bundle even in tests, where this file is not. */
export const WORKER = new URL(
  import.meta.url.endsWith('.ts') ? '../../../dist/sqlite-worker.js' : './sqlite-worker.js',
  import.meta.url,
);

/** Says why what was committed could be lost with the power, or nothing when it could not. */
export function durabilityProblem(journalMode: unknown, synchronous: unknown): string | undefined {
  if (journalMode !== 'wal') return `journal_mode is '${journalMode}' instead of 'wal'`;
  if (synchronous !== 2) return `synchronous is ${synchronous} instead of 2 (FULL)`;
  return undefined;
}

async function assertDurable(writer: Kysely<Database>, file: string): Promise<void> {
  const journal = await sql<{ journal_mode: string }>`pragma journal_mode`.execute(writer);
  const synchronous = await sql<{ synchronous: number }>`pragma synchronous`.execute(writer);
  const problem = durabilityProblem(journal.rows[0]?.journal_mode, synchronous.rows[0]?.synchronous);
  if (problem !== undefined) {
    throw new AppError(
      'unavailable',
      `'${file}' would lose writes: ${problem}; put the data directory on a local disk`,
    );
  }
}

function runOn(client: WorkerClient, explain: (failure: WorkerFailure) => AppError): Backend['run'] {
  function refuse(plan: Plan | undefined, failure: WorkerFailure): AppError {
    if (plan?.lease !== undefined && failure.code === LEASE_LOST) return leaseLost(plan.lease);
    return plan !== undefined && isConflict(failure)
      ? new AppError('conflict', plan.conflict())
      : explain(failure);
  }
  return async plans => {
    const { refusals } = await client.call({ kind: 'batch', batch: pack(plans) });
    return refusals.map((failure, index) => (failure === null ? null : refuse(plans[index], failure)));
  };
}

/**
 * Opens `file`, creating it and its folder when missing, and holds the folder's lock until closed. A temporary one need
 * not outlive the system, and is written and read in the thread that calls.
 */
export async function openSqlite(file: string, logger: Logger, isTemporary = false): Promise<Backend> {
  const folder = dirname(file);
  const explain = (failure: WorkerFailure): AppError => explainFailure(failure, file, folder);
  await createDataFolder(folder);
  const workers = isTemporary
    ? await connectInThread({ explain })
    : startWorkers({ script: WORKER, file, explain, logger });
  const { writerClient, readerClient } = workers;
  const writer = new Kysely<Database>({ dialect: sqliteDialect(writerClient) });
  try {
    const lock = join(folder, 'lock');
    await writerClient.call({ kind: 'open-writer', database: file, lock, isTemporary });
    if (!isTemporary) await assertDurable(writer, file);
  } catch (error) {
    await workers.close();
    throw error;
  }
  const reader = new Kysely<Database>({ dialect: sqliteDialect(readerClient) });
  return {
    writer,
    reader,
    leaseWriter: undefined,
    leaseClock: { isExclusive: true, now: sql`0` },
    withMigrationLock: work => work(writer),
    notify: async () => {},
    listen: () => {},
    run: runOn(writerClient, explain),
    async size() {
      const { rows } = await sql<{ bytes: number }>`
        select page_count * page_size as bytes from pragma_page_count(), pragma_page_size()`.execute(reader);
      return rows[0]?.bytes ?? 0;
    },
    async openReader() {
      await readerClient.call({ kind: 'open-reader', database: file });
    },
    close: () => workers.close(),
  };
}
