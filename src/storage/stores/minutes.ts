import { type Kysely, sql } from 'kysely';
import type { Database, MinutesTable } from '../tables.ts';

export type MinutesRow = Omit<MinutesTable, 'workspace'>;

/** Minutes of components, a row for each component and hour. */
export interface MinuteStore {
  /** In no order; unknown ids are omitted. At most 500 ids a call. */
  byIds(ids: readonly string[]): Promise<readonly MinutesRow[]>;
}

export interface MinuteTransaction {
  /** Adds rows, or their data behind that of the rows of the same ids; each id once. */
  appendMinutes(rows: readonly MinutesRow[]): Promise<void>;
}

export const minuteStore = (db: Kysely<Database>, workspace: string): MinuteStore => ({
  async byIds(ids) {
    if (ids.length === 0) return [];
    return db
      .selectFrom('minutes')
      .where('workspace', '=', workspace)
      .where('id', 'in', ids)
      .select(['id', 'hour', 'data'])
      .execute();
  },
});

export const minuteTransaction = (db: Kysely<Database>, workspace: string): MinuteTransaction => ({
  async appendMinutes(rows) {
    if (rows.length === 0) return;
    await db
      .insertInto('minutes')
      .values(rows.map(row => ({ ...row, workspace })))
      .onConflict(conflict =>
        conflict
          .columns(['workspace', 'id'])
          .doUpdateSet({ data: sql<string>`minutes.data || excluded.data` }),
      )
      .execute();
  },
});
