import type { Kysely } from 'kysely';
import { columnsOf, countRows } from '../queries.ts';
import type { Database, SecretTable } from '../tables.ts';
import type { WithoutWorkspace } from '../types.ts';

export type SecretRow = WithoutWorkspace<SecretTable>;

const SECRET_COLUMNS = columnsOf<SecretRow>({
  name: true,
  sealed: true,
  created_at: true,
  updated_at: true,
  updated_by: true,
});

export interface SecretsStore {
  /** All of them, by name. */
  list(): Promise<readonly SecretRow[]>;
}

const ofWorkspace = (db: Kysely<Database>, workspace: string) =>
  db.selectFrom('secrets').where('workspace', '=', workspace);

export const secretsStore = (db: Kysely<Database>, workspace: string): SecretsStore => ({
  list: () => ofWorkspace(db, workspace).orderBy('name').select(SECRET_COLUMNS).execute(),
});

export const countSecrets = (db: Kysely<Database>, workspace: string): Promise<number> =>
  countRows(ofWorkspace(db, workspace));

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
