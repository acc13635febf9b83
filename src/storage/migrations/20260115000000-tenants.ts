import { type Migration, sql } from 'kysely';

export const tenants: Migration = {
  async up(db) {
    await db.schema
      .createTable('organizations')
      .addColumn('id', 'text', column => column.primaryKey().notNull())
      .addColumn('name', 'text', column => column.notNull())
      .addColumn('role_selector', 'integer', column => column.notNull())
      .addColumn('created_at', 'bigint', column => column.notNull())
      .addColumn('updated_at', 'bigint', column => column.notNull())
      .execute();
    await db.schema
      .createTable('workspaces')
      .addColumn('organization', 'text', column => column.notNull())
      .addColumn('id', 'text', column => column.notNull())
      .addColumn('alias', 'text', column => column.notNull())
      .addColumn('description', 'text', column => column.notNull())
      .addColumn('region', 'text', column => column.notNull())
      .addColumn('tags', 'text', column => column.notNull())
      .addColumn('state', 'text', column => column.notNull())
      .addColumn('created_at', 'bigint', column => column.notNull())
      .addColumn('updated_at', 'bigint', column => column.notNull())
      .addPrimaryKeyConstraint('workspaces_key', ['organization', 'id'])
      .execute();
    await db.schema
      .createTable('members')
      .addColumn('organization', 'text', column => column.notNull())
      .addColumn('user_id', 'text', column => column.notNull())
      .addColumn('role', 'text', column => column.notNull())
      .addColumn('created_by', 'text', column => column.notNull())
      .addColumn('created_at', 'bigint', column => column.notNull())
      .addColumn('updated_by', 'text', column => column.notNull())
      .addColumn('updated_at', 'bigint', column => column.notNull())
      .addPrimaryKeyConstraint('members_key', ['organization', 'user_id'])
      .execute();
    await db.schema.createIndex('members_by_user').on('members').columns(['user_id']).execute();
    await db.schema
      .createTable('member_roles')
      .addColumn('organization', 'text', column => column.notNull())
      .addColumn('user_id', 'text', column => column.notNull())
      .addColumn('workspace', 'text', column => column.notNull())
      .addColumn('role', 'text', column => column.notNull())
      .addPrimaryKeyConstraint('member_roles_key', ['organization', 'user_id', 'workspace'])
      .execute();
    await db.schema
      .createTable('credentials')
      .addColumn('client_id', 'text', column => column.primaryKey().notNull())
      .addColumn('organization', 'text', column => column.notNull())
      .addColumn('name', 'text', column => column.notNull())
      .addColumn('description', 'text', column => column.notNull())
      .addColumn('enabled', 'integer', column => column.notNull())
      .addColumn('organization_role', 'text', column => column.notNull())
      .addColumn('ip_allowlist', 'text', column => column.notNull())
      .addColumn('version', 'bigint', column => column.notNull())
      .addColumn('expires_at', 'bigint')
      .addColumn('created_by', 'text', column => column.notNull())
      .addColumn('created_at', 'bigint', column => column.notNull())
      .addColumn('updated_by', 'text', column => column.notNull())
      .addColumn('updated_at', 'bigint', column => column.notNull())
      .addColumn('last_used_at', 'bigint')
      .addColumn('deleted_at', 'bigint')
      .execute();
    await db.schema
      .createIndex('credentials_by_name')
      .unique()
      .on('credentials')
      .columns(['organization', 'name'])
      .where(sql<boolean>`deleted_at is null`)
      .execute();
    await db.schema
      .createTable('credential_secrets')
      .addColumn('id', 'text', column => column.primaryKey().notNull())
      .addColumn('client_id', 'text', column => column.notNull())
      .addColumn('hash', 'text', column => column.notNull())
      .addColumn('created_at', 'bigint', column => column.notNull())
      .addColumn('not_after', 'bigint')
      .addColumn('last_used_at', 'bigint')
      .execute();
    await db.schema
      .createIndex('credential_secrets_by_client')
      .on('credential_secrets')
      .columns(['client_id', 'created_at'])
      .execute();
    await db.schema
      .createTable('credential_roles')
      .addColumn('client_id', 'text', column => column.notNull())
      .addColumn('workspace', 'text', column => column.notNull())
      .addColumn('role', 'text', column => column.notNull())
      .addPrimaryKeyConstraint('credential_roles_key', ['client_id', 'workspace'])
      .execute();
  },
};
