import { type Migration, sql } from 'kysely';

export const retriesAndKeptTargets: Migration = {
  async up(db) {
    await db.schema
      .alterTable('deliveries')
      .addColumn('retried_from', 'integer', column => column.notNull().defaultTo(0))
      .execute();
    await db.schema.alterTable('deliveries').addColumn('retried_at', 'bigint').execute();
    await db.schema.alterTable('deliveries').addColumn('instead_of', 'text').execute();
    await db.schema.alterTable('deliveries').addColumn('batch', 'text').execute();
    await db.schema
      .createIndex('deliveries_in_batch')
      .on('deliveries')
      .columns(['workspace', 'batch', 'id'])
      .where(sql<boolean>`state = 'waiting' and batch is not null`)
      .execute();
    await db.schema
      .createTable('kept_targets')
      .addColumn('workspace', 'text', column => column.notNull())
      .addColumn('id', 'text', column => column.notNull())
      .addColumn('sealed', 'text', column => column.notNull())
      .addPrimaryKeyConstraint('kept_targets_key', ['workspace', 'id'])
      .execute();
  },
};
