import { rm } from 'node:fs/promises';
import { type Kysely, type Migration, sql } from 'kysely';
import { AppError } from '../../lib/errors.ts';
import { restoreKeyRing } from '../../lib/keyring.ts';
import { MIGRATIONS } from '../migrations/index.ts';
import {
  assertMadeSince02,
  createMigrationTables,
  migrateWithin,
  migrationsRun,
} from '../migrations/migrate.ts';
import { openBackend, type StorageOptions } from '../open.ts';
import { parseStorageUrl } from '../storage-url.ts';
import type { Database } from '../tables.ts';
import { type BackupHeader, backupTables, type TableRow } from './format.ts';
import { readBackup } from './read.ts';

export interface RestoreOptions extends StorageOptions {
  /** The backup. */
  readonly from: string;
  /** Where the key ring belongs. */
  readonly keyRing: string;
  /** By default those of this version. */
  readonly migrations?: Readonly<Record<string, Migration>>;
}

export interface RestoreResult {
  /** The version of the program that wrote the backup. */
  readonly version: string;
  /** Epoch ms. */
  readonly createdAt: number;
  readonly rows: Readonly<Record<string, number>>;
  /** Migrations that the backup had not seen. */
  readonly migrated: readonly string[];
  readonly hasKeyRing: boolean;
}

/** A backup that was read to its end. */
interface CheckedBackup {
  readonly header: BackupHeader;
  readonly rows: Readonly<Record<string, number>>;
  readonly keyRing: string | null;
}

/** The variables of a statement are bounded, on SQLite by 32,766. */
const MAX_VALUES = 8_000;
const MAX_LENGTH = 1_000_000;

/**
 * Puts a backup into a store that holds nothing yet: all of it or nothing, and nothing before the whole file was found
 * whole. Rejects with `conflict` when something is in the store, a server holds it, the backup is of a newer version
 * or another key ring is there; with what `readBackup` and `openStorage` reject with.
 */
export async function restoreBackup(options: RestoreOptions): Promise<RestoreResult> {
  const { from, keyRing: ringPath, migrations = MIGRATIONS, clock } = options;
  const checked = await check(from, migrations);
  const { header, rows, keyRing } = checked;
  const isPostgres = parseStorageUrl(options.url).kind === 'postgres';
  const backend = await openBackend(options);
  let ownsRing = false;
  let migrated: readonly string[] = [];
  try {
    await backend.withMigrationLock(async db => {
      await createMigrationTables(db);
      const transaction = await db.startTransaction().execute();
      try {
        await assertEmpty(transaction, { header, isPostgres });
        await migrateWithin(transaction, migrations, { names: header.migrations, now: clock.now() });
        await fill(transaction, from);
        const names = Object.keys(migrations);
        migrated = await migrateWithin(transaction, migrations, { names, now: clock.now() });
        // Before the commit: a store without its ring could not be opened, a ring without a store harms nobody.
        if (keyRing !== null) ownsRing = await restoreKeyRing(ringPath, keyRing);
        await transaction.commit().execute();
      } catch (error) {
        await transaction.rollback().execute();
        throw error;
      }
    });
  } catch (error) {
    if (ownsRing) await rm(ringPath, { force: true });
    throw error;
  } finally {
    await backend.close();
  }
  const { version, createdAt } = header;
  return { version, createdAt, rows, migrated, hasKeyRing: keyRing !== null };
}

async function check(file: string, migrations: Readonly<Record<string, Migration>>): Promise<CheckedBackup> {
  let header: BackupHeader | undefined;
  let keyRing: string | null = null;
  let rows: Readonly<Record<string, number>> = {};
  for await (const part of readBackup(file)) {
    if (part.kind === 'header') header = part.header;
    else if (part.kind === 'keyRing') keyRing = part.text;
    else if (part.kind === 'end') rows = part.rows;
  }
  if (header === undefined) throw new AppError('invalid-request', `'${file}' is empty`);
  assertMadeSince02(header.migrations, `'${file}'`);
  const unknown = header.migrations.find(name => !(name in migrations));
  if (unknown !== undefined)
    throw new AppError(
      'conflict',
      `'${file}' was written by headgate ${header.version}, which is newer than this one (it has '${unknown}'); ` +
        'restore it with that version or a newer one',
    );
  return { header, rows, keyRing };
}

async function assertEmpty(
  db: Kysely<Database>,
  { header, isPostgres }: { readonly header: BackupHeader; readonly isPostgres: boolean },
): Promise<void> {
  const ran = await migrationsRun(db);
  assertMadeSince02(ran);
  if (ran.some(name => !header.migrations.includes(name)))
    throw new AppError(
      'conflict',
      'the store has tables of a newer version than the backup; name an empty data directory with --data, or an ' +
        'empty database in storage.url',
    );
  for (const { name } of await backupTables(db, isPostgres)) {
    const { rows } = await sql`select 1 from ${sql.table(name)} limit 1`.execute(db);
    if (rows.length > 0)
      throw new AppError(
        'conflict',
        `the store is not empty (there are ${name}); name an empty data directory with --data, or an empty database ` +
          'in storage.url',
      );
  }
}

async function fill(db: Kysely<Database>, file: string): Promise<void> {
  let table = '';
  let columns: readonly string[] = [];
  let waiting: TableRow[] = [];
  let length = 0;

  async function flush(): Promise<void> {
    if (waiting.length === 0) return;
    const values = sql.join(waiting.map(row => sql`(${sql.join([...row])})`));
    const names = sql.join(columns.map(column => sql.ref(column)));
    await sql`insert into ${sql.table(table)} (${names}) values ${values}`.execute(db);
    waiting = [];
    length = 0;
  }

  for await (const part of readBackup(file)) {
    if (part.kind === 'row') {
      waiting.push(part.row);
      for (const value of part.row) if (typeof value === 'string') length += value.length;
      if ((waiting.length + 1) * columns.length > MAX_VALUES || length > MAX_LENGTH) await flush();
    } else {
      await flush();
      if (part.kind === 'table') ({ table, columns } = part);
    }
  }
}
