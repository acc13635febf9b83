import { type Kysely, sql } from 'kysely';
import * as z from 'zod';
import { MIGRATION_TABLES } from '../migrations/migrate.ts';
import type { Database } from '../tables.ts';
import type { DatabaseRow } from '../view.ts';

/** Version of the file's format; a version of headgate that changes it can still read the older ones. */
export const FORMAT = 1;

/**
 * They hold running processes, sign-ins, and counters and silence of the moment, which a restore must not bring back. Every
 * other table is in a backup.
 */
export const VOLATILE_TABLES: readonly string[] = ['leases', 'nodes', 'sessions', 'used_states', 'snapshots'];

/** The first line. Then come tables, each with its rows, the key ring, and the end. */
export const headerSchema = z.object({
  headgate: z.literal('backup'),
  format: z.int().min(1),
  /** The version of the program that wrote it. */
  version: z.string(),
  /** Epoch ms. */
  createdAt: z.number(),
  migrations: z.array(z.string()),
});
export type BackupHeader = z.infer<typeof headerSchema>;

const value = z.union([z.string(), z.number(), z.null(), z.object({ base64: z.string() })]);

/** Whatever follows the first line. */
export const lineSchema = z.union([
  z.array(value),
  z.strictObject({ table: z.string(), columns: z.array(z.string()).min(1) }),
  /** The text of the key ring's file; null when nothing is encrypted yet. */
  z.strictObject({ keyRing: z.string().nullable() }),
  z.strictObject({
    /** The number of rows of each table. */
    rows: z.record(z.string(), z.int()),
    /** The digest of all lines before, their line breaks included, in hex. */
    sha256: z.string(),
  }),
]);
type EncodedValue = z.infer<typeof value>;
type Value = string | number | null | Uint8Array;

/** A row as a restore inserts it. */
export type TableRow = readonly Value[];

/** Throws for a value that is neither text nor number nor bytes: no column may hold one. */
export function encodeRow(row: DatabaseRow, columns: readonly string[]): readonly EncodedValue[] {
  return columns.map(column => {
    const found = row[column];
    if (typeof found === 'string' || typeof found === 'number' || found === null) return found;
    if (found instanceof Uint8Array) return { base64: Buffer.from(found).toString('base64') };
    throw new Error(`column '${column}' holds a ${typeof found}, which a backup has no form for`);
  });
}

export const decodeRow = (values: readonly EncodedValue[]): TableRow =>
  values.map(one => (typeof one === 'object' && one !== null ? Buffer.from(one.base64, 'base64') : one));

/** A table that a backup holds. */
export interface BackupTable {
  readonly name: string;
  readonly columns: readonly string[];
}

/** Every table of the database, as it is now, that is not volatile. */
export async function backupTables(
  db: Kysely<Database>,
  isPostgres: boolean,
): Promise<readonly BackupTable[]> {
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
