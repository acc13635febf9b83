import type { Migration } from 'kysely';

export const usersOfProviders: Migration = {
  async up(db) {
    await db.schema.alterTable('users').addColumn('issuer', 'text').execute();
    await db.schema.alterTable('users').addColumn('subject', 'text').execute();
    await db.schema
      .createIndex('users_by_identity')
      .unique()
      .on('users')
      .columns(['issuer', 'subject'])
      .execute();
  },
};
