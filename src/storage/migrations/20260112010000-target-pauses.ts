import type { Migration } from 'kysely';

export const targetPauses: Migration = {
  async up(db) {
    await db.schema.alterTable('kept_targets').addColumn('paused_until', 'bigint').execute();
  },
};
