import type { Migration } from 'kysely';

export const minutes: Migration = {
  async up(db) {
    await db.schema
      .createTable('minutes')
      .addColumn('workspace', 'text', column => column.notNull())
      .addColumn('id', 'text', column => column.notNull())
      .addColumn('hour', 'bigint', column => column.notNull())
      .addColumn('data', 'text', column => column.notNull())
      .addPrimaryKeyConstraint('minutes_key', ['workspace', 'id'])
      .execute();
  },
};
