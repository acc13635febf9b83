import type { Kysely } from 'kysely';
import type { Database, KeyTable } from '../tables.ts';

export type KeyRow = KeyTable;

/** Name of the one value that the key ring encrypts: what goes into the digests of issued secrets. */
export const PEPPER = 'issued_secret_pepper';

/** Signing keys, oldest first. */
export function readKeys(db: Kysely<Database>): Promise<readonly KeyTable[]> {
  return db.selectFrom('keys').selectAll().orderBy('created_at').orderBy('kid').execute();
}

export async function readInstanceValue(db: Kysely<Database>, name: string): Promise<string | undefined> {
  const row = await db.selectFrom('instance').where('name', '=', name).select('value').executeTakeFirst();
  return row?.value;
}

export async function writeInstanceValue(db: Kysely<Database>, name: string, value: string): Promise<void> {
  await db
    .insertInto('instance')
    .values({ name, value })
    .onConflict(conflict => conflict.column('name').doUpdateSet({ value }))
    .execute();
}

export async function hasSealedValues(db: Kysely<Database>): Promise<boolean> {
  const found = await Promise.all([
    db.selectFrom('keys').select('kid').limit(1).executeTakeFirst(),
    readInstanceValue(db, PEPPER),
    db.selectFrom('secrets').select('name').limit(1).executeTakeFirst(),
    db.selectFrom('removed_targets').select('id').limit(1).executeTakeFirst(),
    db.selectFrom('config_documents').select('revision').limit(1).executeTakeFirst(),
  ]);
  return found.some(row => row !== undefined);
}
