import { type SelectQueryBuilder, sql } from 'kysely';
import { AppError, alreadyExists } from '../lib/errors.ts';
import type { Database } from './tables.ts';

/** The columns of a row, in their order. One that is missing, or that the row does not have, does not compile. */
export function columnsOf<Row extends object>(
  columns: Readonly<Record<Extract<keyof Row, string>, true>>,
): readonly Extract<keyof Row, string>[] {
  const isColumn = (name: string): name is Extract<keyof Row, string> => Object.hasOwn(columns, name);
  return Object.keys(columns).filter(isColumn);
}

/**
 * The rows of a subquery, from one parameter: as one each, thousands of values take longer to bind than to look up. Both
 * databases take an object apart in this way.
 */
export const eachOf = (keys: readonly string[]) =>
  sql<string>`(select key from json_each(${JSON.stringify(Object.fromEntries(keys.map(key => [key, 0])))}))`;

/** Counts the rows that a query matches, which has chosen no columns yet. PostgreSQL counts in texts. */
export async function countRows<Table extends keyof Database>(
  matching: SelectQueryBuilder<Database, Table, object>,
): Promise<number> {
  const counted = matching.select(eb => eb.fn.countAll<number | string>().as('total'));
  const { total } = await counted.executeTakeFirstOrThrow();
  return Number(total);
}

/** Refuses a row whose key is taken as `alreadyExists` does, in place of the database's own text. */
export async function refuseDuplicate(
  insert: Promise<unknown>,
  ...named: Parameters<typeof alreadyExists>
): Promise<void> {
  try {
    await insert;
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'conflict') throw error;
    throw alreadyExists(...named);
  }
}
