import type { SelectQueryBuilder } from 'kysely';
import type { Database } from './tables.ts';

/** How many rows a query matches; it has chosen no columns yet. PostgreSQL counts in texts. */
export async function countOf<Table extends keyof Database>(
  matching: SelectQueryBuilder<Database, Table, object>,
): Promise<number> {
  const counted = matching.select(eb => eb.fn.countAll<number | string>().as('total'));
  const { total } = await counted.executeTakeFirstOrThrow();
  return Number(total);
}
