import type { Kysely } from 'kysely';
import { AppError } from '../lib/errors.ts';
import { DOCUMENT_COLUMNS } from './columns.ts';
import type { DocumentRow, DocumentStore } from './storage.ts';
import type { Database } from './tables.ts';

export const documentStore = (db: Kysely<Database>, workspace: string): DocumentStore => ({
  get: () =>
    db
      .selectFrom('config_documents')
      .where('workspace', '=', workspace)
      .select(DOCUMENT_COLUMNS)
      .executeTakeFirst(),
});

/** Writes the revision that follows the present one, 1 where there is none; refused with `conflict` otherwise. */
export async function putDocument(db: Kysely<Database>, workspace: string, row: DocumentRow): Promise<void> {
  const written =
    row.revision === 1
      ? await db
          .insertInto('config_documents')
          .values({ ...row, workspace })
          .onConflict(conflict => conflict.column('workspace').doNothing())
          .executeTakeFirst()
      : await db
          .updateTable('config_documents')
          .set(row)
          .where('workspace', '=', workspace)
          .where('revision', '=', row.revision - 1)
          .executeTakeFirst();
  const rows = 'numUpdatedRows' in written ? written.numUpdatedRows : written.numInsertedOrUpdatedRows;
  if (rows !== 1n)
    throw new AppError('conflict', 'The configuration has changed meanwhile; read it and try again');
}
