import type { Migration } from 'kysely';

export const audit: Migration = {
  async up(db) {
    await db.schema
      .createTable('audit')
      .addColumn('workspace', 'text', column => column.notNull())
      .addColumn('id', 'text', column => column.notNull())
      .addColumn('created_at', 'bigint', column => column.notNull())
      .addColumn('actor', 'text', column => column.notNull())
      .addColumn('action', 'text', column => column.notNull())
      .addColumn('target', 'text', column => column.notNull())
      .addColumn('result', 'text', column => column.notNull())
      .addColumn('reason', 'text', column => column.notNull())
      .addColumn('address', 'text', column => column.notNull())
      .addColumn('request_id', 'text', column => column.notNull())
      .addColumn('count', 'integer', column => column.notNull())
      .addPrimaryKeyConstraint('audit_key', ['workspace', 'id'])
      .execute();
    for (const column of ['actor', 'action', 'target'] as const)
      await db.schema
        .createIndex(`audit_by_${column}`)
        .on('audit')
        .columns(['workspace', column, 'id'])
        .execute();
  },
};
