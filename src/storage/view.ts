import type { Kysely } from 'kysely';
import type { Database } from './tables.ts';

export type DatabaseRow = Readonly<Record<string, unknown>>;

/** The database as it was at one moment. It needs no lock, and keeps nobody from writing meanwhile. */
export interface ReadView {
  readonly db: Kysely<Database>;
  /** All rows of a table, a page at a time. One table after the other. */
  pages(table: string): AsyncIterable<readonly DatabaseRow[]>;
  close(): Promise<void>;
}

const FIRST_ROWS = 8;
const MAX_ROWS = 500;
/** Characters that the texts of a page should have. */
const TARGET_LENGTH = 1_000_000;

/** Reads pages of as many rows as come to about a megabyte: one kind of row has 100 bytes, another has files in it. */
export async function* readPages(
  fetch: (limit: number) => Promise<readonly DatabaseRow[]>,
): AsyncGenerator<readonly DatabaseRow[]> {
  let limit = FIRST_ROWS;
  for (;;) {
    const rows = await fetch(limit);
    if (rows.length > 0) yield rows;
    if (rows.length < limit) return;
    const fitting = Math.floor((rows.length * TARGET_LENGTH) / lengthOf(rows));
    limit = Math.max(1, Math.min(fitting, limit * 4, MAX_ROWS));
  }
}

function lengthOf(rows: readonly DatabaseRow[]): number {
  let length = 1;
  for (const row of rows)
    for (const value of Object.values(row)) if (typeof value === 'string') length += value.length;
  return length;
}
