import { type Migration, sql } from 'kysely';

export const groups: Migration = {
  async up(db) {
    await db.schema.alterTable('incidents').addColumn('group_id', 'text').execute();
    await db.schema.alterTable('deliveries').addColumn('group_id', 'text').execute();
    await db.schema
      .createIndex('deliveries_grouped')
      .on('deliveries')
      .columns(['workspace', 'group_id', 'id'])
      .where(sql<boolean>`state = 'grouped'`)
      .execute();
    await db.schema
      .createTable('groups')
      .addColumn('workspace', 'text', column => column.notNull())
      .addColumn('id', 'text', column => column.notNull())
      .addColumn('rests_until', 'bigint', column => column.notNull())
      .addPrimaryKeyConstraint('groups_key', ['workspace', 'id'])
      .execute();
    await db.schema
      .createIndex('groups_by_rest')
      .on('groups')
      .columns(['workspace', 'rests_until'])
      .execute();
  },
};
