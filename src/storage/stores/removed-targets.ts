import type { Kysely } from 'kysely';
import { columnsOf } from '../queries.ts';
import type { Database, RemovedTargetTable } from '../tables.ts';
import type { WithoutWorkspace } from '../types.ts';

export type RemovedTargetRow = WithoutWorkspace<RemovedTargetTable>;

const REMOVED_TARGET_COLUMNS = columnsOf<RemovedTargetRow>({
  id: true,
  target: true,
  sealed: true,
  replaced_at: true,
  paused_until: true,
});

export interface RemovedTargetStore {
  list(): Promise<readonly RemovedTargetRow[]>;
}

export const removedTargetStore = (db: Kysely<Database>, workspace: string): RemovedTargetStore => ({
  list: () =>
    db
      .selectFrom('removed_targets')
      .where('workspace', '=', workspace)
      .orderBy('id')
      .select(REMOVED_TARGET_COLUMNS)
      .execute(),
});

export async function putRemovedTarget(
  db: Kysely<Database>,
  workspace: string,
  row: RemovedTargetRow,
): Promise<void> {
  await db
    .insertInto('removed_targets')
    .values({ ...row, workspace })
    .onConflict(conflict =>
      conflict.columns(['workspace', 'id']).doUpdateSet({
        sealed: row.sealed,
        replaced_at: row.replaced_at,
        paused_until: row.paused_until,
      }),
    )
    .execute();
}

/** Says when it was removed, or null that it is configured again; an unknown id changes nothing. */
export async function replaceRemovedTarget(
  db: Kysely<Database>,
  workspace: string,
  { id, replaced_at }: Pick<RemovedTargetRow, 'id' | 'replaced_at'>,
): Promise<void> {
  await db
    .updateTable('removed_targets')
    .set({ replaced_at })
    .where('workspace', '=', workspace)
    .where('id', '=', id)
    .execute();
}

export async function deleteRemovedTarget(
  db: Kysely<Database>,
  workspace: string,
  id: string,
): Promise<void> {
  await db.deleteFrom('removed_targets').where('workspace', '=', workspace).where('id', '=', id).execute();
}
