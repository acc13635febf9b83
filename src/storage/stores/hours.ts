import type { Kysely } from 'kysely';
import { idFloor } from '../../lib/ids.ts';
import { columnsOf } from '../queries.ts';
import type { Database, HoursTable } from '../tables.ts';
import type { WithoutWorkspace } from '../types.ts';
import { MINUTES_COLUMNS, type MinutesRow } from './minutes.ts';

export type HoursRow = WithoutWorkspace<HoursTable>;

/** Ten days: a row is written anew with each of its hours. */
export const HOURS_PER_ROW = 240;

export const HOURS_COLUMNS = columnsOf<HoursRow>({ id: true, start: true, data: true });

/** Hours of components, a row for each component and 240 hours. */
export interface HourStore {
  /** In no order; unknown ids are omitted. At most 500 ids a call. */
  byIds(ids: readonly string[]): Promise<readonly HoursRow[]>;
}

export interface HourTransaction {
  /**
   * Minutes of the hour (epoch ms) that its hours do not hold yet, at most `limit` rows. They count as held from this
   * transaction on, until more is added to them.
   */
  takeMinutes(hour: number, limit: number): Promise<readonly MinutesRow[]>;
  /** As `HourStore.byIds`. */
  hoursByIds(ids: readonly string[]): Promise<readonly HoursRow[]>;
  /** Adds rows, or replaces those of the same ids; each id once. */
  putHours(rows: readonly HoursRow[]): Promise<void>;
}

export const hourStore = (db: Kysely<Database>, workspace: string): HourStore => ({
  async byIds(ids) {
    if (ids.length === 0) return [];
    return db
      .selectFrom('hours')
      .where('workspace', '=', workspace)
      .where('id', 'in', ids)
      .select(HOURS_COLUMNS)
      .execute();
  },
});

export const hourTransaction = (db: Kysely<Database>, workspace: string): HourTransaction => ({
  async takeMinutes(hour, limit) {
    const rows = await db
      .selectFrom('minutes')
      .where('workspace', '=', workspace)
      .where('in_hours', '=', 0)
      .where('id', '>=', idFloor(hour))
      .where('hour', '=', hour)
      .orderBy('id')
      .limit(limit)
      .select(MINUTES_COLUMNS)
      .execute();
    if (rows.length > 0)
      await db
        .updateTable('minutes')
        .set({ in_hours: 1 })
        .where('workspace', '=', workspace)
        .where(
          'id',
          'in',
          rows.map(({ id }) => id),
        )
        .execute();
    return rows;
  },
  hoursByIds: ids => hourStore(db, workspace).byIds(ids),
  async putHours(rows) {
    if (rows.length === 0) return;
    await db
      .insertInto('hours')
      .values(rows.map(row => ({ ...row, workspace })))
      .onConflict(conflict =>
        conflict.columns(['workspace', 'id']).doUpdateSet(eb => ({ data: eb.ref('excluded.data') })),
      )
      .execute();
  },
});
