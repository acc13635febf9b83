import type { Kysely } from 'kysely';
import type { AppError } from '../lib/errors.ts';
import type { Plan } from './operations/plan.ts';
import type { LeaseClock } from './stores/leases.ts';
import type { Database } from './tables.ts';
import type { CommittedChange } from './types.ts';

/** The part of a database that differs; everything else in this room is the same for all of them. */
export interface Backend {
  /** For the reads of the stores. */
  readonly reader: Kysely<Database>;
  /** For administration. Only the holder of the writer's mutex may use it. */
  readonly writer: Kysely<Database>;
  /** For leases and nodes where they have a connection of their own: neither batch nor transaction delays a renewal. */
  readonly leaseWriter: Kysely<Database> | undefined;
  readonly leaseClock: LeaseClock;
  /** Lends what writes to migrations, and keeps other processes from theirs meanwhile. */
  withMigrationLock(work: (db: Kysely<Database>) => Promise<void>): Promise<void>;
  /** Notifies other processes when and if the transaction of `db` is committed. */
  notify(db: Kysely<Database>, changes: readonly CommittedChange[]): Promise<void>;
  /** Calls `onChange` from now on with what other processes notify of. */
  listen(onChange: (change: CommittedChange) => void): void;
  /**
   * Writes the plans in one transaction, notifies other processes, and refuses those whose lease is over or another's.
   * When that fails, finds the bad ones and writes the others.
   * Answers for each plan, in order: null when it is on disk, else why it was refused.
   */
  run(plans: readonly Plan[]): Promise<readonly (AppError | null)[]>;
  /** Bytes that the database takes on its disk. */
  size(): Promise<number>;
  /** Opens what reads, once the tables are there. */
  openReader(): Promise<void>;
  /** Answers the calls that were made before, then ends. */
  close(): Promise<void>;
}
