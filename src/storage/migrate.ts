import { type Kysely, type Migration, Migrator } from 'kysely';
import { AppError, reasonOf } from '../lib/errors.ts';
import type { Database } from './tables.ts';

const TABLE = 'migrations';

/** The tables of the migrator itself. */
type Migrated = { migrations: { name: string } };

async function namesRunSoFar(writer: Kysely<Database>): Promise<readonly string[]> {
  const tables = await writer.introspection.getTables();
  if (!tables.some(table => table.name === TABLE)) return [];
  const rows = await writer.withTables<Migrated>().selectFrom(TABLE).select('name').execute();
  return rows.map(row => row.name);
}

/**
 * Runs what the database has not seen yet, all of it in one transaction. The caller holds the lock against other
 * processes. Refused with `conflict` when a newer version has been here: there is no way back.
 */
export async function migrate(
  writer: Kysely<Database>,
  migrations: Readonly<Record<string, Migration>>,
): Promise<void> {
  const unknown = (await namesRunSoFar(writer)).find(name => !(name in migrations));
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
