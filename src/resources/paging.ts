import * as z from 'zod';
import type { Page, PageRequest } from '../storage/types.ts';

/** Most rows of one answer. */
const MOST_ROWS = 1000;

/** One text for whatever is wrong: what a query holds is a text at first, and how it was read helps nobody. */
function whole(min: number, max: number) {
  const error = `must be a whole number from ${min} to ${max}`;
  return z.coerce.number({ error }).int({ error }).min(min, { error }).max(max, { error });
}

/** Query of every list. Without `limit` up to 1000 rows are answered, from `offset` on. */
export const pageQuery = {
  offset: whole(0, Number.MAX_SAFE_INTEGER).default(0),
  limit: whole(1, MOST_ROWS).optional(),
};

export interface PageInput {
  readonly offset: number;
  readonly limit?: number | undefined;
}

/** One page of a list, with the offset and limit of the query. */
export interface ListPage<Item> {
  readonly items: readonly Item[];
  readonly offset: number;
  /** Undefined when the caller set none. */
  readonly limit: number | undefined;
  readonly total: number;
}

export const pageRequest = (input: PageInput): PageRequest => ({
  offset: input.offset,
  limit: input.limit ?? MOST_ROWS,
});

export function toListPage<Row, Item>(
  input: PageInput,
  page: Page<Row>,
  map: (row: Row) => Item,
): ListPage<Item> {
  return { items: page.rows.map(map), offset: input.offset, limit: input.limit, total: page.total };
}

/** A page of what lies in memory. */
export function listPageOf<Item>(
  input: PageInput,
  all: Pick<readonly Item[], 'length' | 'slice'>,
): ListPage<Item> {
  const { offset, limit } = pageRequest(input);
  return { items: all.slice(offset, offset + limit), offset, limit: input.limit, total: all.length };
}
