import type { Migration } from 'kysely';

export const leasesAndNodes: Migration = {
  async up(db) {
    await db.schema
      .createTable('leases')
      .addColumn('name', 'text', column => column.primaryKey().notNull())
      .addColumn('owner', 'text', column => column.notNull())
      .addColumn('epoch', 'bigint', column => column.notNull())
      .addColumn('until', 'bigint', column => column.notNull())
      .execute();
    await db.schema
      .createTable('nodes')
      .addColumn('id', 'text', column => column.primaryKey().notNull())
      .addColumn('url', 'text', column => column.notNull())
      .addColumn('version', 'text', column => column.notNull())
      .addColumn('started_at', 'bigint', column => column.notNull())
      .addColumn('until', 'bigint', column => column.notNull())
      .execute();
  },
};
