import { type Kysely, type Migration, sql } from 'kysely';
import type { Database } from '../tables.ts';

async function describeUsers(db: Kysely<Database>): Promise<void> {
  for (const name of ['email', 'first', 'last'] as const)
    await db.schema
      .alterTable('users')
      .addColumn(name, 'text', column => column.notNull().defaultTo(''))
      .execute();
  await db.schema
    .alterTable('users')
    .addColumn('kind', 'text', column => column.notNull().defaultTo('person'))
    .execute();
  await db.schema
    .alterTable('users')
    .addColumn('disabled', 'integer', column => column.notNull().defaultTo(0))
    .execute();
  for (const name of ['version', 'updated_at'] as const)
    await db.schema
      .alterTable('users')
      .addColumn(name, 'bigint', column => column.notNull().defaultTo(0))
      .execute();
  await db.schema.alterTable('users').addColumn('initial_password', 'text').execute();
  await sql`update users set updated_at = created_at`.execute(db);
}

export const users: Migration = {
  async up(db) {
    await describeUsers(db);
    await db.schema
      .createTable('revoked_tokens')
      .addColumn('id', 'text', column => column.primaryKey().notNull())
      .addColumn('expires_at', 'bigint', column => column.notNull())
      .execute();
    await db.schema.createIndex('revoked_tokens_by_end').on('revoked_tokens').column('expires_at').execute();
  },
};
