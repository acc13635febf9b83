import type { Migration } from 'kysely';

export const restsOfDeliveries: Migration = {
  async up(db) {
    await db.schema.alterTable('deliveries').addColumn('rest', 'text').execute();
  },
};
