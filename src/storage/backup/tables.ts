import { type Kysely, sql } from 'kysely';
import { MIGRATION_TABLES } from '../migrate.ts';
import type { Database } from '../tables.ts';
import { VOLATILE_TABLES } from './format.ts';

/** A table that a backup holds. */
export interface KeptTable {
  readonly name: string;
  readonly columns: readonly string[];
}

/** Every table of the database, as it is now, that is not volatile. */
export async function keptTables(db: Kysely<Database>, isPostgres: boolean): Promise<readonly KeptTable[]> {
  const schema = isPostgres ? await currentSchema(db) : undefined;
  const tables = await db.introspection.getTables();
  return tables
    .filter(table => !table.isView && table.schema === schema)
    .filter(({ name }) => !VOLATILE_TABLES.includes(name) && !MIGRATION_TABLES.includes(name))
    .map(({ name, columns }) => ({ name, columns: columns.map(column => column.name) }));
}

async function currentSchema(db: Kysely<Database>): Promise<string | undefined> {
  const { rows } = await sql<{ schema: string }>`select current_schema() as schema`.execute(db);
  return rows[0]?.schema;
}
