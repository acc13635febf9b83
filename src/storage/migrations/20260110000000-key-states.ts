import { type Migration, sql } from 'kysely';

/** The one key of before signs on. */
export const keyStates: Migration = {
  async up(db) {
    await db.schema
      .alterTable('keys')
      .addColumn('state', 'text', column => column.notNull().defaultTo('active'))
      .execute();
    await db.schema
      .alterTable('keys')
      .addColumn('since', 'bigint', column => column.notNull().defaultTo(0))
      .execute();
    await db.schema.alterTable('keys').addColumn('ends_at', 'bigint').execute();
    await db.updateTable('keys').set({ since: sql`created_at` }).execute();
  },
};
