import { type Kysely, sql } from 'kysely';
import { idFloor } from '../../lib/ids.ts';
import { columnsOf } from '../queries.ts';
import type { Database, MinutesTable } from '../tables.ts';

export type MinutesRow = Omit<MinutesTable, 'workspace' | 'in_hours'>;

export const MINUTES_COLUMNS = columnsOf<MinutesRow>({ id: true, hour: true, data: true });

/** Minutes of components, a row for each component and hour. */
export interface MinuteStore {
  /** In no order; unknown ids are omitted. At most 500 ids a call. */
  byIds(ids: readonly string[]): Promise<readonly MinutesRow[]>;
  /** The first hour (epoch ms) before `before` with minutes that hours do not hold yet; undefined when there is none. */
  firstHourToKeep(before: number): Promise<number | undefined>;
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
      .select(MINUTES_COLUMNS)
      .execute();
  },
  async firstHourToKeep(before) {
    const first = await db
      .selectFrom('minutes')
      .where('workspace', '=', workspace)
      .where('in_hours', '=', 0)
      .where('id', '<', idFloor(before))
      .orderBy('id')
      .limit(1)
      .select('hour')
      .executeTakeFirst();
    return first?.hour;
  },
});

export const minuteTransaction = (db: Kysely<Database>, workspace: string): MinuteTransaction => ({
  async appendMinutes(rows) {
    if (rows.length === 0) return;
    await db
      .insertInto('minutes')
      .values(rows.map(row => ({ ...row, workspace, in_hours: 0 })))
      .onConflict(conflict =>
        conflict
          .columns(['workspace', 'id'])
          .doUpdateSet({ data: sql<string>`minutes.data || excluded.data`, in_hours: 0 }),
      )
      .execute();
  },
});
