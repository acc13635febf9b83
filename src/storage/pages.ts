import type { Row } from './view.ts';

const FIRST_ROWS = 8;
const MOST_ROWS = 500;
/** What a page should come to, in characters of its texts. */
const WANTED_LENGTH = 1_000_000;

/** Reads pages of as many rows as come to about a megabyte: one kind of row has 100 bytes, another has files in it. */
export async function* pagesOf(
  fetch: (limit: number) => Promise<readonly Row[]>,
): AsyncGenerator<readonly Row[]> {
  let limit = FIRST_ROWS;
  for (;;) {
    const rows = await fetch(limit);
    if (rows.length > 0) yield rows;
    if (rows.length < limit) return;
    const fitting = Math.floor((rows.length * WANTED_LENGTH) / lengthOf(rows));
    limit = Math.max(1, Math.min(fitting, limit * 4, MOST_ROWS));
  }
}

function lengthOf(rows: readonly Row[]): number {
  let length = 1;
  for (const row of rows)
    for (const value of Object.values(row)) if (typeof value === 'string') length += value.length;
  return length;
}
