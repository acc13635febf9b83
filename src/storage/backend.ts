import type { Kysely } from 'kysely';
import type { AppError } from '../lib/errors.ts';
import type { Tenure } from './leases.ts';
import type { Plan } from './operations.ts';
import type { Fact } from './storage.ts';
import type { Database } from './tables.ts';

/** What a database must bring; everything else in this room is the same for all of them. */
export interface Backend {
  /** For the reads of the stores. */
  readonly reader: Kysely<Database>;
  /** For administration. Only who holds the writer's turn may use it. */
  readonly writer: Kysely<Database>;
  /** For leases and nodes where they have a connection of their own: neither batch nor transaction delays a renewal. */
  readonly keeper: Kysely<Database> | undefined;
  readonly tenure: Tenure;
  /** Lends what writes to migrations, and keeps other processes from theirs meanwhile. */
  migrating(work: (db: Kysely<Database>) => Promise<void>): Promise<void>;
  /** Tells other processes, when and if the transaction of `db` is committed. */
  notify(db: Kysely<Database>, facts: readonly Fact[]): Promise<void>;
  /** Hears from now on what other processes tell. */
  listen(heard: (fact: Fact) => void): void;
  /**
   * Writes the plans in one transaction, tells other processes, and refuses those whose lease is over or another's.
   * When that fails, finds the bad ones and writes the others.
   * Answers for each plan, in order: null when it is on disk, else why it was refused.
   */
  run(plans: readonly Plan[]): Promise<readonly (AppError | null)[]>;
  /** What the database takes on its disk, in bytes. */
  size(): Promise<number>;
  /** Opens what reads, once the tables are there. */
  openReader(): Promise<void>;
  /** Answers what was asked before, then ends. */
  close(): Promise<void>;
}
