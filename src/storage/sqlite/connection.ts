import { closeSync, openSync } from 'node:fs';
import Sqlite from 'better-sqlite3';
import { codeOf, reasonOf } from '../../lib/errors.ts';
import type { Lease } from '../stores/leases.ts';
import {
  ALREADY_IN_USE,
  LEASE_LOST,
  type PackedBatch,
  type RequestEnvelope,
  ROW_COUNT_MISMATCH,
  runSteps,
  type WorkerFailure,
  type WorkerRequest,
  type WorkerResponse,
} from './protocol.ts';

const BUSY_TIMEOUT_MS = 5000;
/** A long read keeps the WAL growing; once its content is in the database, no more of the file stays than this. */
const MAX_IDLE_WAL_BYTES = 16 * 1024 * 1024;
const SELECT_HELD_LEASE = 'select 1 from leases where name = ? and owner = ? and epoch = ? and until > 0';
/** Kysely makes a new text per number of list items; the oldest go first. */
const MAX_PREPARED = 200;

class ConnectionError extends Error {
  readonly code: string;

  constructor({ code, message }: WorkerFailure) {
    super(message);
    this.code = code;
  }
}

const failureOf = (error: unknown): WorkerFailure => ({
  code: codeOf(error),
  message: reasonOf(error),
});

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
function holdLock(file: string): Sqlite.Database {
  createPrivate(file);
  const lock = new Sqlite(file, { timeout: 0 });
  try {
    lock.exec('begin exclusive');
  } catch (error) {
    lock.close();
    if (!codeOf(error).startsWith('SQLITE_BUSY')) throw error;
    throw new ConnectionError({ code: ALREADY_IN_USE, message: 'the lock is held' });
  }
  return lock;
}

interface QueryResult {
  readonly rows: readonly unknown[];
  readonly changes: number;
}

class SqliteConnection {
  readonly #database: Sqlite.Database;
  /** The statement that was prepared first stands first. */
  readonly #prepared = new Map<string, Sqlite.Statement>();

  constructor(database: Sqlite.Database) {
    this.#database = database;
  }

  query(sql: string, parameters: readonly unknown[]): QueryResult {
    const statement = this.#prepare(sql);
    if (statement.reader) return { rows: statement.all(parameters), changes: 0 };
    return { rows: [], changes: statement.run(parameters).changes };
  }

  queryInTransaction(sql: string, parameters: readonly unknown[]): QueryResult {
    // A full disk makes SQLite roll back by itself; what follows would be written without the rest.
    if (!this.#database.inTransaction) {
      throw new ConnectionError({
        code: 'SQLITE_ABORT',
        message: 'the database has rolled the transaction back',
      });
    }
    return this.query(sql, parameters);
  }

  rollback(): void {
    if (this.#database.inTransaction) this.#database.exec('rollback');
  }

  /** Answers for each plan, in order: null when it was written, else why it was refused. */
  runBatch(batch: PackedBatch): readonly (WorkerFailure | null)[] {
    return this.#runRange(batch, 0, batch.leases.length);
  }

  close(): void {
    this.#database.close();
  }

  /** Halves a batch that fails until the bad plans stand alone: few commits, and the order stays. */
  #runRange(batch: PackedBatch, from: number, to: number): readonly (WorkerFailure | null)[] {
    const failure = this.#runInTransaction(batch, from, to);
    if (failure === null) return Array.from({ length: to - from }, () => null);
    if (to - from === 1) return [failure];
    const half = (from + to) >> 1;
    return [...this.#runRange(batch, from, half), ...this.#runRange(batch, half, to)];
  }

  #runInTransaction(batch: PackedBatch, from: number, to: number): WorkerFailure | null {
    try {
      this.#prepare('begin immediate').run();
      for (const lease of new Set(batch.leases.slice(from, to))) this.#assertHeld(lease);
      runSteps(batch, { from, to }, (sql, parameters, expect) => this.#runStep(sql, parameters, expect));
      this.#prepare('commit').run();
      return null;
    } catch (error) {
      this.rollback();
      return failureOf(error);
    }
  }

  #runStep(sql: string, parameters: readonly unknown[], expect: number | undefined): void {
    const { changes } = this.#prepare(sql).run(parameters);
    if (expect !== undefined && changes !== expect) {
      throw new ConnectionError({
        code: ROW_COUNT_MISMATCH,
        message: `${changes} rows changed instead of ${expect}`,
      });
    }
  }

  #assertHeld(lease: Lease | undefined): void {
    if (lease === undefined) return;
    const { name, owner, epoch } = lease;
    if (this.#prepare(SELECT_HELD_LEASE).get(name, owner, epoch) === undefined)
      throw new ConnectionError({ code: LEASE_LOST, message: `the lease '${name}' is over` });
  }

  #prepare(sql: string): Sqlite.Statement {
    const known = this.#prepared.get(sql);
    if (known !== undefined) return known;
    const statement = this.#database.prepare(sql);
    for (const oldest of this.#prepared.keys()) {
      if (this.#prepared.size < MAX_PREPARED) break;
      this.#prepared.delete(oldest);
    }
    this.#prepared.set(sql, statement);
    return statement;
  }
}

/** Opens the file to write: what is committed has reached the disk (`synchronous=FULL`), but of a temporary one. */
function openWriter({
  database: file,
  isTemporary,
}: {
  readonly database: string;
  readonly isTemporary: boolean;
}): SqliteConnection {
  createPrivate(file);
  const database = new Sqlite(file, { timeout: BUSY_TIMEOUT_MS });
  try {
    database.pragma('journal_mode = WAL');
    database.pragma(`synchronous = ${isTemporary ? 'OFF' : 'FULL'}`);
    database.pragma(`journal_size_limit = ${MAX_IDLE_WAL_BYTES}`);
    return new SqliteConnection(database);
  } catch (error) {
    database.close();
    throw error;
  }
}

const openReader = (file: string): SqliteConnection =>
  new SqliteConnection(new Sqlite(file, { timeout: BUSY_TIMEOUT_MS, readonly: true }));

type PartialResponse = Partial<Omit<WorkerResponse, 'id' | 'failure'>>;

/** Answers requests in their order; SQLite's calls block the thread that it is called in. */
export function createRequestHandler(): (envelope: RequestEnvelope) => WorkerResponse {
  let connection: SqliteConnection | undefined;
  let release = (): void => {};

  function opened(): SqliteConnection {
    if (connection === undefined) throw new Error('the database is not open');
    return connection;
  }

  function handle(request: WorkerRequest): PartialResponse {
    switch (request.kind) {
      case 'open-writer': {
        const lock = holdLock(request.lock);
        release = () => lock.close();
        connection = openWriter(request);
        return {};
      }
      case 'open-reader':
        connection = openReader(request.database);
        return {};
      case 'query':
        return opened().query(request.sql, request.parameters);
      case 'query-in-transaction':
        return opened().queryInTransaction(request.sql, request.parameters);
      case 'rollback':
        opened().rollback();
        return {};
      case 'batch':
        return { refusals: opened().runBatch(request.batch) };
      case 'close':
        connection?.close();
        release();
        return {};
    }
  }

  return ({ id, request }) => {
    const nothing: WorkerResponse = { id, failure: null, rows: [], changes: 0, refusals: [] };
    try {
      return { ...nothing, ...handle(request) };
    } catch (error) {
      return { ...nothing, failure: failureOf(error) };
    }
  };
}
