import { type Kysely, sql } from 'kysely';
import type { MinuteStore, MinuteTransaction } from './minute-store.ts';
import type { Database } from './tables.ts';

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

export const minutesIn = (db: Kysely<Database>, workspace: string): MinuteTransaction => ({
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
