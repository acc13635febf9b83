import type { Kysely } from 'kysely';
import type { Database } from './tables.ts';

export type Row = Readonly<Record<string, unknown>>;

/** The database as it was at one moment. It needs no lock, and keeps nobody from writing meanwhile. */
export interface View {
  readonly db: Kysely<Database>;
  /** All rows of a table, a page at a time. One table after the other. */
  pages(table: string): AsyncIterable<readonly Row[]>;
  close(): Promise<void>;
}
