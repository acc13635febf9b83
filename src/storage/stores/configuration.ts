import type { Kysely } from 'kysely';
import { AppError } from '../../lib/errors.ts';
import { columnsOf, countRows, refuseDuplicate } from '../queries.ts';
import type { ConfigVersionTable, Database, DocumentTable } from '../tables.ts';
import type { Page, PageRequest, WithoutWorkspace } from '../types.ts';

export type DocumentRow = WithoutWorkspace<DocumentTable>;
export type ConfigVersionRow = WithoutWorkspace<ConfigVersionTable>;
/** A version without its files. */
export type ConfigVersionSummary = Omit<ConfigVersionRow, 'files'>;

const DOCUMENT_COLUMNS = columnsOf<DocumentRow>({ revision: true, sealed: true, updated_at: true });

/** All but the files, which may be large. */
const VERSION_SUMMARY_COLUMNS = columnsOf<ConfigVersionSummary>({
  id: true,
  author: true,
  source: true,
  message: true,
  created_at: true,
});

/** The configuration of a workspace that has no files. */
export interface DocumentStore {
  get(): Promise<DocumentRow | undefined>;
}

/** The configurations that took effect. */
export interface VersionStore {
  /** Newest first. */
  list(page: PageRequest): Promise<Page<ConfigVersionSummary>>;
  get(id: string): Promise<ConfigVersionRow | undefined>;
  /** The newest. */
  last(): Promise<ConfigVersionRow | undefined>;
  count(): Promise<number>;
}

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

export function versionStore(db: Kysely<Database>, workspace: string): VersionStore {
  const all = () => db.selectFrom('config_versions').where('workspace', '=', workspace);
  const newestFirst = () => all().orderBy('id', 'desc');

  return {
    get: id =>
      all()
        .where('id', '=', id)
        .select([...VERSION_SUMMARY_COLUMNS, 'files'])
        .executeTakeFirst(),
    last: () => lastVersion(db, workspace),
    count: () => countRows(all()),
    async list({ offset, limit }) {
      const [rows, total] = await Promise.all([
        newestFirst().select(VERSION_SUMMARY_COLUMNS).offset(offset).limit(limit).execute(),
        countRows(all()),
      ]);
      return { rows, total };
    },
  };
}

export const lastVersion = (db: Kysely<Database>, workspace: string): Promise<ConfigVersionRow | undefined> =>
  db
    .selectFrom('config_versions')
    .where('workspace', '=', workspace)
    .select([...VERSION_SUMMARY_COLUMNS, 'files'])
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst();

export const addVersion = (db: Kysely<Database>, workspace: string, row: ConfigVersionRow): Promise<void> =>
  refuseDuplicate(
    db
      .insertInto('config_versions')
      .values({ ...row, workspace })
      .execute(),
    `version '${row.id}' of the configuration`,
  );
