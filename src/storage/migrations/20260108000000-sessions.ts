import type { Migration } from 'kysely';

export const sessions: Migration = {
  async up(db) {
    await db.schema
      .createTable('sessions')
      .addColumn('id', 'text', column => column.primaryKey().notNull())
      .addColumn('user_id', 'text', column => column.notNull())
      .addColumn('user_version', 'bigint', column => column.notNull())
      .addColumn('method', 'text', column => column.notNull())
      .addColumn('created_at', 'bigint', column => column.notNull())
      .addColumn('seen_at', 'bigint', column => column.notNull())
      .addColumn('ends_at', 'bigint', column => column.notNull())
      .addColumn('id_token', 'text')
      .execute();
    await db.schema
      .createIndex('sessions_by_user')
      .on('sessions')
      .columns(['user_id', 'created_at'])
      .execute();
    await db.schema
      .createTable('used_states')
      .addColumn('id', 'text', column => column.primaryKey().notNull())
      .addColumn('ends_at', 'bigint', column => column.notNull())
      .execute();
  },
};
