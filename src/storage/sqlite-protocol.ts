import type { Batch } from './sqlite-batch.ts';

/** What the main thread asks of a worker; each worker answers in the order of asking. */
export type Request =
  | { readonly kind: 'open-writer'; readonly database: string; readonly lock: string }
  | { readonly kind: 'open-reader'; readonly database: string }
  | { readonly kind: 'query'; readonly sql: string; readonly parameters: readonly unknown[] }
  /** A query that must not run outside the transaction it was meant for. */
  | { readonly kind: 'query-within'; readonly sql: string; readonly parameters: readonly unknown[] }
  | { readonly kind: 'rollback' }
  | { readonly kind: 'batch'; readonly batch: Batch }
  | { readonly kind: 'close' };

export interface Envelope {
  readonly id: number;
  readonly request: Request;
}

/** An error as it crosses threads. `code` is SQLite's, Node's, or one of those below. */
export interface Failure {
  readonly code: string;
  readonly message: string;
}

/** A step changed another number of rows than its operation expects. */
export const NOT_AS_EXPECTED = 'NOT_AS_EXPECTED';
/** The lease of a plan is over or another's. */
export const LEASE_LOST = 'LEASE_LOST';
/** Another process holds the lock of the data directory. */
export const ALREADY_IN_USE = 'ALREADY_IN_USE';

export interface Answer {
  readonly id: number;
  readonly failure: Failure | null;
  readonly rows: readonly unknown[];
  readonly changes: number;
  /** Of a batch: for each plan null or why it was refused. */
  readonly refusals: readonly (Failure | null)[];
}
