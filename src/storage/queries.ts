import type { SelectQueryBuilder } from 'kysely';
import { AppError } from '../lib/errors.ts';
import type { Database } from './tables.ts';

/** How many rows a query matches; it has chosen no columns yet. PostgreSQL counts in texts. */
export async function countRows<Table extends keyof Database>(
  matching: SelectQueryBuilder<Database, Table, object>,
): Promise<number> {
  const counted = matching.select(eb => eb.fn.countAll<number | string>().as('total'));
  const { total } = await counted.executeTakeFirstOrThrow();
  return Number(total);
}

/** Says in words of the domain, instead of the database's, that a row with the same key is there already. */
export async function refuseDuplicate(insert: Promise<unknown>, message: string): Promise<void> {
  try {
    await insert;
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'conflict') throw error;
    throw new AppError('conflict', message);
  }
}
