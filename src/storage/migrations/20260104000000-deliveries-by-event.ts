import type { Migration } from 'kysely';

export const deliveriesByEvent: Migration = {
  async up(db) {
    // Without it, each old event of an incident that repeats for months would walk through all its deliveries.
    await db.schema
      .createIndex('deliveries_by_event')
      .on('deliveries')
      .columns(['workspace', 'event_id'])
      .execute();
  },
};
