import type { Kysely } from 'kysely';
import type { AppError } from '../lib/errors.ts';
import type { Plan } from './operations.ts';
import type { Database } from './tables.ts';

/** What a database must bring; everything else in this room is the same for all of them. */
export interface Backend {
  /** For the reads of the stores. */
  readonly reader: Kysely<Database>;
  /** For administration. Only who holds the writer's turn may use it. */
  readonly writer: Kysely<Database>;
  /** Lends what writes to migrations, and keeps other processes from theirs meanwhile. */
  migrating(work: (db: Kysely<Database>) => Promise<void>): Promise<void>;
  /**
   * Writes the plans in one transaction. When that fails, finds the bad ones and writes the others.
   * Answers for each plan, in order: null when it is on disk, else why it was refused.
   */
  run(plans: readonly Plan[]): Promise<readonly (AppError | null)[]>;
  /** Opens what reads, once the tables are there. */
  openReader(): Promise<void>;
  /** Answers what was asked before, then ends. */
  close(): Promise<void>;
}
