import type { Migration } from 'kysely';

export const documents: Migration = {
  async up(db) {
    await db.schema
      .createTable('config_documents')
      .addColumn('workspace', 'text', column => column.primaryKey().notNull())
      .addColumn('revision', 'bigint', column => column.notNull())
      .addColumn('sealed', 'text', column => column.notNull())
      .addColumn('updated_at', 'bigint', column => column.notNull())
      .execute();
  },
};
