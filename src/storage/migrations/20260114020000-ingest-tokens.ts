import type { Migration } from 'kysely';

export const ingestTokens: Migration = {
  async up(db) {
    await db.schema
      .createTable('ingest_tokens')
      .addColumn('workspace', 'text', column => column.notNull())
      .addColumn('id', 'text', column => column.notNull())
      .addColumn('pipeline', 'text', column => column.notNull())
      .addColumn('description', 'text', column => column.notNull())
      .addColumn('enabled', 'integer', column => column.notNull())
      .addColumn('created_at', 'bigint', column => column.notNull())
      .addColumn('expires_at', 'bigint')
      .addColumn('last_used_at', 'bigint')
      .addColumn('digest', 'text', column => column.notNull())
      .addColumn('issued_at', 'bigint', column => column.notNull())
      .addColumn('former_digest', 'text')
      .addColumn('former_ends_at', 'bigint')
      .addPrimaryKeyConstraint('ingest_tokens_key', ['workspace', 'id'])
      .execute();
  },
};
