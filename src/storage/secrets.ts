import type { Kysely } from 'kysely';
import { SECRET_COLUMNS } from './columns.ts';
import { countOf } from './counting.ts';
import type { SecretRow, SecretsStore } from './storage.ts';
import type { Database } from './tables.ts';

const ofWorkspace = (db: Kysely<Database>, workspace: string) =>
  db.selectFrom('secrets').where('workspace', '=', workspace);

export const secretsStore = (db: Kysely<Database>, workspace: string): SecretsStore => ({
  list: () => ofWorkspace(db, workspace).orderBy('name').select(SECRET_COLUMNS).execute(),
});

export const countSecrets = (db: Kysely<Database>, workspace: string): Promise<number> =>
  countOf(ofWorkspace(db, workspace));

/** Adds the secret or replaces it, in which case it keeps its `created_at`. Answers the row as it is now. */
export const putSecret = (db: Kysely<Database>, workspace: string, row: SecretRow): Promise<SecretRow> =>
  db
    .insertInto('secrets')
    .values({ ...row, workspace })
    .onConflict(conflict =>
      conflict.columns(['workspace', 'name']).doUpdateSet({
        sealed: row.sealed,
        updated_at: row.updated_at,
        updated_by: row.updated_by,
      }),
    )
    .returning(SECRET_COLUMNS)
    .executeTakeFirstOrThrow();

export async function removeSecret(db: Kysely<Database>, workspace: string, name: string): Promise<boolean> {
  const removed = await db
    .deleteFrom('secrets')
    .where('workspace', '=', workspace)
    .where('name', '=', name)
    .executeTakeFirst();
  return removed.numDeletedRows > 0n;
}
