import { type Migration, sql } from 'kysely';

export const standIns: Migration = {
  async up(db) {
    await db.schema
      .createIndex('deliveries_instead_of')
      .on('deliveries')
      .columns(['workspace', 'instead_of', 'incident_id', 'target'])
      .where(sql<boolean>`instead_of is not null`)
      .execute();
  },
};
