import { type Kysely, type Migration, Migrator } from 'kysely';
import { AppError, reasonOf } from '../../lib/errors.ts';
import type { Database } from '../tables.ts';

const TABLE = 'migrations';
const LOCK_TABLE = `${TABLE}_lock`;

/** The tables of the migrator itself. */
export const MIGRATION_TABLES: readonly string[] = [TABLE, LOCK_TABLE];

type Migrated = { migrations: { name: string; timestamp: string } };

type Migrations = Readonly<Record<string, Migration>>;

/** Ran first in every database that a version before 0.2 made. */
const FIRST_BEFORE_0_2 = '20260101000000-first-tables';

/** Throws `conflict` when a version before 0.2 ran migrations: nothing leads from their tables to these. */
export function assertMadeSince02(ran: readonly string[], subject = 'the database'): void {
  if (ran.includes(FIRST_BEFORE_0_2))
    throw new AppError('conflict', `${subject} was made before 0.2; export the configuration, start empty`);
}

/** The names of those that ran here, in their order; none in a database without tables. */
export async function migrationsRun(db: Kysely<Database>): Promise<readonly string[]> {
  const tables = await db.introspection.getTables();
  return tables.some(table => table.name === TABLE) ? namesRun(db) : [];
}

const namesRun = async (db: Kysely<Database>): Promise<readonly string[]> => {
  const rows = await db.withTables<Migrated>().selectFrom(TABLE).select('name').orderBy('name').execute();
  return rows.map(({ name }) => name);
};

/** The name of a migration that ran here and is none of these: a newer version's. */
export const unknownMigration = async (
  db: Kysely<Database>,
  migrations: Migrations,
): Promise<string | undefined> => (await namesRun(db)).find(name => !(name in migrations));

/**
 * Runs what the database has not seen yet, all of it in one transaction. The caller holds the lock against other
 * processes. Refused with `conflict` when a newer version has been here, as there is no way back, and when a version
 * before 0.2 made the database.
 */
export async function migrate(writer: Kysely<Database>, migrations: Migrations): Promise<void> {
  const ran = await migrationsRun(writer);
  assertMadeSince02(ran);
  const unknown = ran.find(name => !(name in migrations));
  if (unknown !== undefined) {
    throw new AppError(
      'conflict',
      `the database was written by a newer version of headgate (it has '${unknown}'); ` +
        'run that version, or restore a backup made before the upgrade',
    );
  }
  const { error, results } = await createMigrator(writer, migrations).migrateToLatest();
  if (error === undefined) return;
  if (error instanceof AppError) throw error;
  const failed = results?.find(result => result.status === 'Error')?.migrationName ?? 'the first';
  throw new AppError('internal', `migration '${failed}' failed: ${reasonOf(error)}`, { cause: error });
}

const createMigrator = (db: Kysely<Database>, migrations: Migrations): Migrator =>
  new Migrator({
    db,
    provider: { getMigrations: async () => ({ ...migrations }) },
    migrationTableName: TABLE,
    migrationLockTableName: LOCK_TABLE,
  });

/** Makes the tables of the migrator itself, which a transaction of the caller's needs before `migrateWithin`. */
export async function createMigrationTables(writer: Kysely<Database>): Promise<void> {
  await createMigrator(writer, {}).migrateToLatest();
}

/** Runs those of `names` that have not run, inside a transaction of the caller's, and notes them as run at `now`. */
export async function migrateWithin(
  transaction: Kysely<Database>,
  migrations: Migrations,
  { names, now }: { readonly names: readonly string[]; readonly now: number },
): Promise<readonly string[]> {
  const ran = new Set(await migrationsRun(transaction));
  const due = Object.entries(migrations).filter(([name]) => names.includes(name) && !ran.has(name));
  for (const [name, migration] of due) {
    await migration.up(transaction);
    const timestamp = new Date(now).toISOString();
    await transaction.withTables<Migrated>().insertInto(TABLE).values({ name, timestamp }).execute();
  }
  return due.map(([name]) => name);
}
