import * as z from 'zod';
import type { Row } from '../view.ts';

/** Of the file; a version of headgate that changes it can still read the older ones. */
export const FORMAT = 1;

/** Of the running processes and of who is signed in, which a restore must not bring back. Every other table is in a backup. */
export const VOLATILE_TABLES: readonly string[] = ['leases', 'nodes', 'sessions', 'used_states'];

/** The first line. Then come tables, each with its rows, the key ring, and the end. */
export const headerSchema = z.object({
  headgate: z.literal('backup'),
  format: z.int().min(1),
  /** Of the program that wrote it. */
  version: z.string(),
  /** Epoch ms. */
  createdAt: z.number(),
  migrations: z.array(z.string()),
});
export type Header = z.infer<typeof headerSchema>;

const value = z.union([z.string(), z.number(), z.null(), z.object({ base64: z.string() })]);

/** Whatever follows the first line. */
export const lineSchema = z.union([
  z.array(value),
  z.strictObject({ table: z.string(), columns: z.array(z.string()).min(1) }),
  /** The text of the key ring's file; null when nothing is encrypted yet. */
  z.strictObject({ keyRing: z.string().nullable() }),
  z.strictObject({
    /** How many rows each table has. */
    rows: z.record(z.string(), z.int()),
    /** Of all lines before, their line breaks included, in hex. */
    sha256: z.string(),
  }),
]);
type Written = z.infer<typeof value>;
type Value = string | number | null | Uint8Array;

/** What a restore puts into a table. */
export type TableRow = readonly Value[];

/** Throws for a value that is neither text nor number nor bytes: no column may hold one. */
export function written(row: Row, columns: readonly string[]): readonly Written[] {
  return columns.map(column => {
    const found = row[column];
    if (typeof found === 'string' || typeof found === 'number' || found === null) return found;
    if (found instanceof Uint8Array) return { base64: Buffer.from(found).toString('base64') };
    throw new Error(`column '${column}' holds a ${typeof found}, which a backup has no form for`);
  });
}

export const read = (values: readonly Written[]): TableRow =>
  values.map(one => (typeof one === 'object' && one !== null ? Buffer.from(one.base64, 'base64') : one));
