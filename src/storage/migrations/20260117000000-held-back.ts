import type { Migration } from 'kysely';

export const heldBack: Migration = {
  async up(db) {
    await db.schema.alterTable('incidents').addColumn('held_by', 'text').execute();
    await db.schema.alterTable('deliveries').addColumn('held_for', 'text').execute();
  },
};
