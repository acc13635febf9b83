import { closeSync, openSync } from 'node:fs';
import Sqlite from 'better-sqlite3';
import { codeOf, reasonOf } from '../lib/errors.ts';
import { type Batch, runSteps } from './sqlite-batch.ts';
import { ALREADY_IN_USE, type Failure, LEASE_LOST, NOT_AS_EXPECTED } from './sqlite-protocol.ts';
import type { Lease } from './storage.ts';

const BUSY_TIMEOUT_MS = 5000;
const IN_FORCE = 'select 1 from leases where name = ? and owner = ? and epoch = ? and until > 0';
/** Kysely makes a new text per number of list items; the oldest go first. */
const MAX_PREPARED = 200;

class Refusal extends Error {
  readonly code: string;

  constructor({ code, message }: Failure) {
    super(message);
    this.code = code;
  }
}

export const failureOf = (error: unknown): Failure => ({ code: codeOf(error), message: reasonOf(error) });

/** Creates the file for its owner alone. An existing one is not even opened: closing it would drop its locks. */
function createPrivate(file: string): void {
  try {
    closeSync(openSync(file, 'wx', 0o600));
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  }
}

/**
 * Holds the data directory for this process: SQLite's exclusive lock on an empty database is the operating system's on
 * an open file, so it ends with the process however that ends.
 */
export function holdLock(file: string): Sqlite.Database {
  createPrivate(file);
  const lock = new Sqlite(file, { timeout: 0 });
  try {
    lock.exec('begin exclusive');
  } catch (error) {
    lock.close();
    if (!codeOf(error).startsWith('SQLITE_BUSY')) throw error;
    throw new Refusal({ code: ALREADY_IN_USE, message: 'the lock is held' });
  }
  return lock;
}

export interface Connection {
  query(sql: string, parameters: readonly unknown[]): { rows: readonly unknown[]; changes: number };
  queryWithin(sql: string, parameters: readonly unknown[]): { rows: readonly unknown[]; changes: number };
  rollback(): void;
  runBatch(batch: Batch): readonly (Failure | null)[];
  close(): void;
}

/** Opens the file to write: what is committed has reached the disk (`synchronous=FULL`). */
export function openWriting(file: string): Connection {
  createPrivate(file);
  const database = new Sqlite(file, { timeout: BUSY_TIMEOUT_MS });
  try {
    database.pragma('journal_mode = WAL');
    database.pragma('synchronous = FULL');
    return connect(database);
  } catch (error) {
    database.close();
    throw error;
  }
}

export function openReading(file: string): Connection {
  return connect(new Sqlite(file, { timeout: BUSY_TIMEOUT_MS, readonly: true }));
}

function connect(database: Sqlite.Database): Connection {
  const prepared = new Map<string, Sqlite.Statement>();

  function prepare(sql: string): Sqlite.Statement {
    const known = prepared.get(sql);
    if (known !== undefined) return known;
    const statement = database.prepare(sql);
    for (const oldest of prepared.keys()) {
      if (prepared.size < MAX_PREPARED) break;
      prepared.delete(oldest);
    }
    prepared.set(sql, statement);
    return statement;
  }

  function query(sql: string, parameters: readonly unknown[]) {
    const statement = prepare(sql);
    if (statement.reader) return { rows: statement.all(parameters), changes: 0 };
    return { rows: [], changes: statement.run(parameters).changes };
  }

  function rollback(): void {
    if (database.inTransaction) database.exec('rollback');
  }

  function runStep(sql: string, parameters: readonly unknown[], expect: number | undefined): void {
    const { changes } = prepare(sql).run(parameters);
    if (expect !== undefined && changes !== expect) {
      throw new Refusal({ code: NOT_AS_EXPECTED, message: `${changes} rows changed instead of ${expect}` });
    }
  }

  function assertInForce(lease: Lease | undefined): void {
    if (lease === undefined) return;
    const { name, owner, epoch } = lease;
    if (prepare(IN_FORCE).get(name, owner, epoch) === undefined)
      throw new Refusal({ code: LEASE_LOST, message: `the lease '${name}' is over` });
  }

  function runTogether(batch: Batch, from: number, to: number): Failure | null {
    try {
      prepare('begin immediate').run();
      for (const lease of new Set(batch.leases.slice(from, to))) assertInForce(lease);
      runSteps(batch, { from, to }, runStep);
      prepare('commit').run();
      return null;
    } catch (error) {
      rollback();
      return failureOf(error);
    }
  }

  /** Halves a batch that fails until the bad ones stand alone: few commits, and the order stays. */
  function runPart(batch: Batch, from: number, to: number): readonly (Failure | null)[] {
    const failure = runTogether(batch, from, to);
    if (failure === null) return Array.from({ length: to - from }, () => null);
    if (to - from === 1) return [failure];
    const half = (from + to) >> 1;
    return [...runPart(batch, from, half), ...runPart(batch, half, to)];
  }

  return {
    query,
    queryWithin(sql, parameters) {
      // A full disk makes SQLite roll back by itself; what follows would be written without the rest.
      if (!database.inTransaction) {
        throw new Refusal({ code: 'SQLITE_ABORT', message: 'the database has rolled the transaction back' });
      }
      return query(sql, parameters);
    },
    rollback,
    runBatch: batch => runPart(batch, 0, batch.leases.length),
    close: () => database.close(),
  };
}
