import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { Kysely, sql } from 'kysely';
import { AppError, codeOf, reasonOf } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import type { Backend } from './backend.ts';
import type { Plan } from './operations.ts';
import { sqliteDialect } from './sqlite-dialect.ts';
import { explainFailure, isConflict } from './sqlite-errors.ts';
import { type Link, linkTo } from './sqlite-link.ts';
import type { Failure } from './sqlite-protocol.ts';
import type { Database } from './tables.ts';

/** The worker is a bundle even in tests, where this file is not. */
const WORKER = new URL(
  import.meta.url.endsWith('.ts') ? '../../dist/sqlite-worker.js' : './sqlite-worker.js',
  import.meta.url,
);

async function createFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw explainFailure({ code: codeOf(error), message: reasonOf(error) }, folder, folder);
  }
}

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

function runOn(link: Link, explain: (failure: Failure) => AppError): Backend['run'] {
  const refuse = (plan: Plan | undefined, failure: Failure): AppError =>
    plan !== undefined && isConflict(failure) ? new AppError('conflict', plan.conflict()) : explain(failure);
  return async plans => {
    const { refusals } = await link.ask({ kind: 'batch', plans: plans.map(plan => plan.steps) });
    return refusals.map((failure, index) => (failure === null ? null : refuse(plans[index], failure)));
  };
}

/** Opens `file`, creating it and its folder when missing, and holds the folder's lock until closed. */
export async function openSqlite(file: string, logger: Logger): Promise<Backend> {
  const folder = dirname(file);
  await createFolder(folder);
  const explain = (failure: Failure): AppError => explainFailure(failure, file, folder);

  function die(reason: unknown): void {
    logger.error({ file, reason: reasonOf(reason) }, 'A storage worker has died; restart headgate.');
    void end(
      new AppError('unavailable', `the storage of '${file}' has died; restart headgate`, { cause: reason }),
    );
  }
  async function end(error: AppError): Promise<void> {
    await Promise.all([writing.end(error), reading.end(error)]);
  }
  const writing = linkTo(new Worker(WORKER), explain, die);
  const reading = linkTo(new Worker(WORKER), explain, die);
  const reader = new Kysely<Database>({ dialect: sqliteDialect(reading) });
  const writer = new Kysely<Database>({ dialect: sqliteDialect(writing) });

  async function close(): Promise<void> {
    try {
      await reading.ask({ kind: 'close' });
      await writing.ask({ kind: 'close' });
    } finally {
      await end(new AppError('unavailable', 'the storage is closed'));
    }
  }

  try {
    await writing.ask({ kind: 'open-writer', database: file, lock: join(folder, 'lock') });
    await assertDurable(writer, file);
  } catch (error) {
    await end(new AppError('unavailable', 'the storage is closed'));
    throw error;
  }
  return {
    reader,
    writer,
    run: runOn(writing, explain),
    async openReader() {
      await reading.ask({ kind: 'open-reader', database: file });
    },
    close,
  };
}
