import type { Migration } from 'kysely';

export const secretsAndVersions: Migration = {
  async up(db) {
    await db.schema
      .createTable('secrets')
      .addColumn('workspace', 'text', column => column.notNull())
      .addColumn('name', 'text', column => column.notNull())
      .addColumn('sealed', 'text', column => column.notNull())
      .addColumn('created_at', 'bigint', column => column.notNull())
      .addColumn('updated_at', 'bigint', column => column.notNull())
      .addColumn('updated_by', 'text', column => column.notNull())
      .addPrimaryKeyConstraint('secrets_key', ['workspace', 'name'])
      .execute();
    await db.schema
      .createTable('config_versions')
      .addColumn('workspace', 'text', column => column.notNull())
      .addColumn('id', 'text', column => column.notNull())
      .addColumn('author', 'text', column => column.notNull())
      .addColumn('door', 'text', column => column.notNull())
      .addColumn('message', 'text')
      .addColumn('created_at', 'bigint', column => column.notNull())
      .addColumn('files', 'text', column => column.notNull())
      .addPrimaryKeyConstraint('config_versions_key', ['workspace', 'id'])
      .execute();
  },
};
