import { type Kysely, type Migration, Migrator } from 'kysely';
import { AppError, reasonOf } from '../lib/errors.ts';
import type { Database } from './tables.ts';

const TABLE = 'migrations';

/** The tables of the migrator itself. */
type Migrated = { migrations: { name: string } };

type Migrations = Readonly<Record<string, Migration>>;

/** The name of a migration that ran here and is none of these: a newer version's. */
export async function unknownMigration(
  db: Kysely<Database>,
  migrations: Migrations,
): Promise<string | undefined> {
  const rows = await db.withTables<Migrated>().selectFrom(TABLE).select('name').orderBy('name').execute();
  return rows.find(({ name }) => !(name in migrations))?.name;
}

/**
 * Runs what the database has not seen yet, all of it in one transaction. The caller holds the lock against other
 * processes. Refused with `conflict` when a newer version has been here: there is no way back.
 */
export async function migrate(writer: Kysely<Database>, migrations: Migrations): Promise<void> {
  const tables = await writer.introspection.getTables();
  const isNew = !tables.some(table => table.name === TABLE);
  const unknown = isNew ? undefined : await unknownMigration(writer, migrations);
  if (unknown !== undefined) {
    throw new AppError(
      'conflict',
      `the database was written by a newer version of headgate (it has '${unknown}'); ` +
        'run that version, or restore a backup made before the upgrade',
    );
  }
  const migrator = new Migrator({
    db: writer,
    provider: { getMigrations: async () => ({ ...migrations }) },
    migrationTableName: TABLE,
    migrationLockTableName: `${TABLE}_lock`,
  });
  const { error, results } = await migrator.migrateToLatest();
  if (error === undefined) return;
  if (error instanceof AppError) throw error;
  const failed = results?.find(result => result.status === 'Error')?.migrationName ?? 'the first';
  throw new AppError('internal', `migration '${failed}' failed: ${reasonOf(error)}`, { cause: error });
}
