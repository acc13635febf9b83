import { closeSync, openSync } from 'node:fs';
import Sqlite from 'better-sqlite3';
import { codeOf, reasonOf } from '../lib/errors.ts';
import type { Step } from './operations.ts';
import { ALREADY_IN_USE, type Failure, LEASE_LOST, NOT_AS_EXPECTED, type Writes } from './sqlite-protocol.ts';

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
  runBatch(plans: readonly Writes[]): readonly (Failure | null)[];
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

  function runSteps(steps: readonly Step[]): void {
    for (const { sql, parameters, expect } of steps) {
      const { changes } = prepare(sql).run(parameters);
      if (expect !== undefined && changes !== expect) {
        throw new Refusal({ code: NOT_AS_EXPECTED, message: `${changes} rows changed instead of ${expect}` });
      }
    }
  }

  function assertInForce(lease: Writes['lease']): void {
    if (lease === undefined) return;
    const { name, owner, epoch } = lease;
    if (prepare(IN_FORCE).get(name, owner, epoch) === undefined)
      throw new Refusal({ code: LEASE_LOST, message: `the lease '${name}' is over` });
  }

  function runTogether(plans: readonly Writes[]): Failure | null {
    try {
      prepare('begin immediate').run();
      for (const lease of new Set(plans.map(plan => plan.lease))) assertInForce(lease);
      for (const { steps } of plans) runSteps(steps);
      prepare('commit').run();
      return null;
    } catch (error) {
      rollback();
      return failureOf(error);
    }
  }

  /** Halves a batch that fails until the bad ones stand alone: few commits, and the order stays. */
  function runBatch(plans: readonly Writes[]): readonly (Failure | null)[] {
    const failure = runTogether(plans);
    if (failure === null) return plans.map(() => null);
    if (plans.length === 1) return [failure];
    const half = plans.length >> 1;
    return [...runBatch(plans.slice(0, half)), ...runBatch(plans.slice(half))];
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
    runBatch,
    close: () => database.close(),
  };
}
