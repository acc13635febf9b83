import type { Kysely } from 'kysely';
import { KEPT_TARGET_COLUMNS } from './columns.ts';
import type { KeptTargetRow, KeptTargetStore } from './storage.ts';
import type { Database } from './tables.ts';

export const keptTargetStore = (db: Kysely<Database>, workspace: string): KeptTargetStore => ({
  list: () =>
    db
      .selectFrom('kept_targets')
      .where('workspace', '=', workspace)
      .orderBy('id')
      .select(KEPT_TARGET_COLUMNS)
      .execute(),
});

export async function keepTarget(db: Kysely<Database>, workspace: string, row: KeptTargetRow): Promise<void> {
  await db
    .insertInto('kept_targets')
    .values({ ...row, workspace })
    .onConflict(conflict =>
      conflict
        .columns(['workspace', 'id'])
        .doUpdateSet({ sealed: row.sealed, paused_until: row.paused_until }),
    )
    .execute();
}

export async function dropTarget(db: Kysely<Database>, workspace: string, id: string): Promise<void> {
  await db.deleteFrom('kept_targets').where('workspace', '=', workspace).where('id', '=', id).execute();
}
