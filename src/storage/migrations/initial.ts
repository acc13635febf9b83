// Longer than others because the whole layout of a store is one migration, as nothing was released before it.
import { type ColumnBuilderCallback, type Kysely, type Migration, sql } from 'kysely';
import type { Database } from '../tables.ts';

// Times are 'bigint', because PostgreSQL's integer has 32 bits. SQLite stores binary data in a column of any type.

const required: ColumnBuilderCallback = column => column.notNull();
const key: ColumnBuilderCallback = column => column.primaryKey().notNull();

async function createInstance(db: Kysely<Database>): Promise<void> {
  await db.schema
    .createTable('instance')
    .addColumn('name', 'text', key)
    .addColumn('value', 'text', required)
    .execute();
  await db.schema
    .createTable('keys')
    .addColumn('kid', 'text', key)
    .addColumn('algorithm', 'text', required)
    .addColumn('private_key', 'text', required)
    .addColumn('public_key', 'text', required)
    .addColumn('created_at', 'bigint', required)
    .addColumn('state', 'text', required)
    .addColumn('since', 'bigint', required)
    .addColumn('ends_at', 'bigint')
    .execute();
  await db.schema
    .createTable('leases')
    .addColumn('name', 'text', key)
    .addColumn('owner', 'text', required)
    .addColumn('epoch', 'bigint', required)
    .addColumn('until', 'bigint', required)
    .execute();
  await db.schema
    .createTable('nodes')
    .addColumn('id', 'text', key)
    .addColumn('url', 'text', required)
    .addColumn('version', 'text', required)
    .addColumn('started_at', 'bigint', required)
    .addColumn('until', 'bigint', required)
    .execute();
}

async function createUsers(db: Kysely<Database>): Promise<void> {
  await db.schema
    .createTable('users')
    .addColumn('id', 'text', key)
    .addColumn('organization', 'text', required)
    .addColumn('username', 'text', required)
    .addColumn('password', 'text', required)
    .addColumn('force_password_change', 'integer', required)
    .addColumn('role', 'text', required)
    .addColumn('created_at', 'bigint', required)
    .addColumn('updated_at', 'bigint', required)
    .addColumn('email', 'text', required)
    .addColumn('first', 'text', required)
    .addColumn('last', 'text', required)
    .addColumn('disabled', 'integer', required)
    .addColumn('kind', 'text', required)
    .addColumn('version', 'bigint', required)
    .addColumn('initial_password', 'text')
    .addColumn('issuer', 'text')
    .addColumn('subject', 'text')
    .execute();
  await db.schema
    .createIndex('users_by_name')
    .unique()
    .on('users')
    .columns(['username', 'organization'])
    .execute();
  await db.schema
    .createIndex('users_by_identity')
    .unique()
    .on('users')
    .columns(['issuer', 'subject', 'organization'])
    .execute();
  await db.schema
    .createTable('revoked_tokens')
    .addColumn('id', 'text', key)
    .addColumn('expires_at', 'bigint', required)
    .execute();
  await db.schema.createIndex('revoked_tokens_by_end').on('revoked_tokens').column('expires_at').execute();
}

async function createSessions(db: Kysely<Database>): Promise<void> {
  await db.schema
    .createTable('sessions')
    .addColumn('id', 'text', key)
    .addColumn('user_id', 'text', required)
    .addColumn('user_version', 'bigint', required)
    .addColumn('method', 'text', required)
    .addColumn('created_at', 'bigint', required)
    .addColumn('seen_at', 'bigint', required)
    .addColumn('ends_at', 'bigint', required)
    .addColumn('id_token', 'text')
    .execute();
  await db.schema.createIndex('sessions_by_user').on('sessions').columns(['user_id', 'created_at']).execute();
  await db.schema
    .createTable('used_states')
    .addColumn('id', 'text', key)
    .addColumn('ends_at', 'bigint', required)
    .execute();
}

async function createIncidents(db: Kysely<Database>): Promise<void> {
  await db.schema
    .createTable('incidents')
    .addColumn('workspace', 'text', required)
    .addColumn('id', 'text', required)
    .addColumn('notification', 'text', required)
    .addColumn('condition', 'text', required)
    .addColumn('subject', 'text', required)
    .addColumn('state', 'text', required)
    .addColumn('seq', 'integer', required)
    .addColumn('opened_at', 'bigint', required)
    .addColumn('closed_at', 'bigint')
    .addColumn('close_reason', 'text')
    .addColumn('severity', 'text', required)
    .addColumn('text', 'text', required)
    .addColumn('rule', 'text', required)
    .addColumn('notified', 'text', required)
    .addColumn('last_event_at', 'bigint', required)
    .addColumn('escalated_at', 'bigint')
    .addColumn('reminders', 'integer', required)
    .addColumn('group_id', 'text')
    .addColumn('inhibited_by', 'text')
    .addColumn('reported_state', 'text')
    .addColumn('unmet_since', 'bigint')
    .addColumn('flapping_changes', 'integer')
    .addColumn('last_changes', 'text')
    .addPrimaryKeyConstraint('incidents_key', ['workspace', 'id'])
    .execute();
  await db.schema
    .createIndex('incidents_one_open')
    .unique()
    .on('incidents')
    .columns(['workspace', 'notification', 'subject'])
    .where(sql<boolean>`state = 'open'`)
    .execute();
  await db.schema
    .createIndex('incidents_by_state')
    .on('incidents')
    .columns(['workspace', 'state', 'id'])
    .execute();
  // The state at the end lets a filter on both be counted in the index alone.
  await db.schema
    .createIndex('incidents_by_notification')
    .on('incidents')
    .columns(['workspace', 'notification', 'id', 'state'])
    .execute();
  await db.schema
    .createIndex('incidents_by_close')
    .on('incidents')
    .columns(['workspace', 'closed_at'])
    .where('closed_at', 'is not', null)
    .execute();
  await db.schema
    .createTable('events')
    .addColumn('workspace', 'text', required)
    .addColumn('id', 'text', required)
    .addColumn('incident_id', 'text', required)
    .addColumn('body', 'text', required)
    .addColumn('created_at', 'bigint', required)
    .addPrimaryKeyConstraint('events_key', ['workspace', 'id'])
    .execute();
  await db.schema
    .createIndex('events_by_incident')
    .on('events')
    .columns(['workspace', 'incident_id', 'id'])
    .execute();
  await db.schema
    .createTable('received_events')
    .addColumn('workspace', 'text', required)
    .addColumn('id', 'text', required)
    .addColumn('event', 'text', required)
    .addPrimaryKeyConstraint('received_events_key', ['workspace', 'id'])
    .execute();
  await db.schema
    .createIndex('received_events_once')
    .unique()
    .on('received_events')
    .columns(['workspace', 'event'])
    .execute();
}

async function createDeliveries(db: Kysely<Database>): Promise<void> {
  await db.schema
    .createTable('deliveries')
    .addColumn('workspace', 'text', required)
    .addColumn('id', 'text', required)
    .addColumn('target', 'text', required)
    .addColumn('notification', 'text', required)
    .addColumn('subject', 'text', required)
    .addColumn('incident_id', 'text', required)
    .addColumn('event_id', 'text', required)
    .addColumn('seq', 'integer', required)
    .addColumn('status', 'text', required)
    .addColumn('state', 'text', required)
    .addColumn('attempts', 'integer', required)
    .addColumn('unknown_attempts', 'integer', required)
    .addColumn('next_at', 'bigint')
    .addColumn('last_status', 'integer')
    .addColumn('last_error', 'text')
    .addColumn('created_at', 'bigint', required)
    .addColumn('settled_at', 'bigint')
    .addColumn('retried_from', 'integer', required)
    .addColumn('retried_at', 'bigint')
    .addColumn('fallback_for', 'text')
    .addColumn('batch', 'text')
    .addColumn('group_id', 'text')
    .addColumn('inhibited_for', 'text')
    .addColumn('silenced_by', 'text')
    .addColumn('inhibition', 'text')
    .addColumn('inhibited_by', 'text')
    .addColumn('released_at', 'bigint')
    .addColumn('fault', 'text')
    .addColumn('redelivered', 'integer', required)
    .addColumn('remainder', 'text')
    .addPrimaryKeyConstraint('deliveries_key', ['workspace', 'id'])
    .execute();
  await indexDeliveries(db);
  await db.schema
    .createTable('attempts')
    .addColumn('workspace', 'text', required)
    .addColumn('delivery_id', 'text', required)
    .addColumn('number', 'integer', required)
    .addColumn('started_at', 'bigint', required)
    .addColumn('duration_ms', 'integer', required)
    .addColumn('outcome', 'text', required)
    .addColumn('http_status', 'integer')
    .addColumn('reason', 'text')
    .addColumn('answer', 'text')
    .addPrimaryKeyConstraint('attempts_key', ['workspace', 'delivery_id', 'number'])
    .execute();
}

async function indexDeliveries(db: Kysely<Database>): Promise<void> {
  await db.schema
    .createIndex('deliveries_once')
    .unique()
    .on('deliveries')
    .columns(['workspace', 'incident_id', 'target', 'seq'])
    .execute();
  // SQLite prefers this index to the one by target because the state, though always the same, is one column more.
  await db.schema
    .createIndex('deliveries_waiting')
    .on('deliveries')
    .columns(['workspace', 'target', 'state', 'id'])
    .where(sql<boolean>`state = 'waiting'`)
    .execute();
  for (const column of ['state', 'target', 'notification', 'incident_id'] as const)
    await db.schema
      .createIndex(`deliveries_by_${column}`)
      .on('deliveries')
      .columns(['workspace', column, 'id'])
      .execute();
  // Without it, each old event of an incident that repeats for months would walk through all its deliveries.
  await db.schema
    .createIndex('deliveries_by_event')
    .on('deliveries')
    .columns(['workspace', 'event_id'])
    .execute();
  await db.schema
    .createIndex('deliveries_in_batch')
    .on('deliveries')
    .columns(['workspace', 'batch', 'id'])
    .where(sql<boolean>`state = 'waiting' and batch is not null`)
    .execute();
  await db.schema
    .createIndex('deliveries_fallback_for')
    .on('deliveries')
    .columns(['workspace', 'fallback_for', 'incident_id', 'target'])
    .where(sql<boolean>`fallback_for is not null`)
    .execute();
  await db.schema
    .createIndex('deliveries_grouped')
    .on('deliveries')
    .columns(['workspace', 'group_id', 'id'])
    .where(sql<boolean>`state = 'grouped'`)
    .execute();
}

async function createGroups(db: Kysely<Database>): Promise<void> {
  await db.schema
    .createTable('groups')
    .addColumn('workspace', 'text', required)
    .addColumn('id', 'text', required)
    .addColumn('interval_ends_at', 'bigint', required)
    .addPrimaryKeyConstraint('groups_key', ['workspace', 'id'])
    .execute();
  await db.schema
    .createIndex('groups_by_interval_end')
    .on('groups')
    .columns(['workspace', 'interval_ends_at'])
    .execute();
}

async function createMessages(db: Kysely<Database>): Promise<void> {
  await db.schema
    .createTable('messages')
    .addColumn('workspace', 'text', required)
    .addColumn('id', 'text', required)
    .addColumn('severity', 'text', required)
    .addColumn('title', 'text', required)
    .addColumn('text', 'text', required)
    .addColumn('time', 'bigint', required)
    .addColumn('group_name', 'text')
    .addColumn('metadata', 'text')
    .addPrimaryKeyConstraint('messages_key', ['workspace', 'id'])
    .execute();
  await db.schema
    .createIndex('messages_by_time')
    .on('messages')
    .columns(['workspace', 'time', 'id'])
    .execute();
}

async function createAcknowledgements(db: Kysely<Database>): Promise<void> {
  await db.schema
    .createTable('acknowledgements')
    .addColumn('workspace', 'text', required)
    .addColumn('incident', 'text', required)
    .addColumn('acknowledged', 'integer', required)
    .addColumn('changed_at', 'bigint', required)
    .addColumn('changed_by', 'text', required)
    .addColumn('note', 'text', required)
    .addPrimaryKeyConstraint('acknowledgements_key', ['workspace', 'incident'])
    .execute();
}

async function createSilences(db: Kysely<Database>): Promise<void> {
  await db.schema
    .createTable('silences')
    .addColumn('workspace', 'text', required)
    .addColumn('id', 'text', required)
    .addColumn('matchers', 'text', required)
    .addColumn('starts_at', 'bigint', required)
    .addColumn('ends_at', 'bigint', required)
    .addColumn('until_resolved', 'integer', required)
    .addColumn('comment', 'text', required)
    .addColumn('created_by', 'text', required)
    .addColumn('created_at', 'bigint', required)
    .addPrimaryKeyConstraint('silences_key', ['workspace', 'id'])
    .execute();
  await db.schema
    .createIndex('silences_by_end')
    .on('silences')
    .columns(['workspace', 'ends_at', 'id'])
    .execute();
  await db.schema
    .createTable('silenced_incidents')
    .addColumn('workspace', 'text', required)
    .addColumn('silence', 'text', required)
    .addColumn('incident', 'text', required)
    .addPrimaryKeyConstraint('silenced_incidents_key', ['workspace', 'silence', 'incident'])
    .execute();
  await db.schema
    .createIndex('silenced_incidents_by_incident')
    .on('silenced_incidents')
    .columns(['workspace', 'incident'])
    .execute();
}

async function createConfiguration(db: Kysely<Database>): Promise<void> {
  await db.schema
    .createTable('config_versions')
    .addColumn('workspace', 'text', required)
    .addColumn('id', 'text', required)
    .addColumn('author', 'text', required)
    .addColumn('source', 'text', required)
    .addColumn('message', 'text')
    .addColumn('created_at', 'bigint', required)
    .addColumn('files', 'text', required)
    .addPrimaryKeyConstraint('config_versions_key', ['workspace', 'id'])
    .execute();
  await db.schema
    .createTable('config_documents')
    .addColumn('workspace', 'text', key)
    .addColumn('revision', 'bigint', required)
    .addColumn('sealed', 'text', required)
    .addColumn('updated_at', 'bigint', required)
    .execute();
  await db.schema
    .createTable('removed_targets')
    .addColumn('workspace', 'text', required)
    .addColumn('id', 'text', required)
    .addColumn('target', 'text', required)
    .addColumn('replaced_at', 'bigint')
    .addColumn('sealed', 'text', required)
    .addColumn('paused_until', 'bigint')
    .addPrimaryKeyConstraint('removed_targets_key', ['workspace', 'id'])
    .execute();
  await db.schema
    .createTable('sending')
    .addColumn('workspace', 'text', key)
    .addColumn('until', 'bigint', required)
    .execute();
  await db.schema
    .createTable('secrets')
    .addColumn('workspace', 'text', required)
    .addColumn('name', 'text', required)
    .addColumn('sealed', 'text', required)
    .addColumn('created_at', 'bigint', required)
    .addColumn('updated_at', 'bigint', required)
    .addColumn('updated_by', 'text', required)
    .addPrimaryKeyConstraint('secrets_key', ['workspace', 'name'])
    .execute();
}

async function createIngest(db: Kysely<Database>): Promise<void> {
  await db.schema
    .createTable('component_groups')
    .addColumn('workspace', 'text', required)
    .addColumn('id', 'text', required)
    .addColumn('name', 'text', required)
    .addColumn('description', 'text', required)
    .addColumn('created_at', 'bigint', required)
    .addPrimaryKeyConstraint('component_groups_key', ['workspace', 'id'])
    .execute();
  await db.schema
    .createTable('ingest_tokens')
    .addColumn('workspace', 'text', required)
    .addColumn('id', 'text', required)
    .addColumn('pipeline', 'text', required)
    .addColumn('description', 'text', required)
    .addColumn('enabled', 'integer', required)
    .addColumn('created_at', 'bigint', required)
    .addColumn('expires_at', 'bigint')
    .addColumn('last_used_at', 'bigint')
    .addColumn('digest', 'text', required)
    .addColumn('issued_at', 'bigint', required)
    .addColumn('former_digest', 'text')
    .addColumn('former_ends_at', 'bigint')
    .addPrimaryKeyConstraint('ingest_tokens_key', ['workspace', 'id'])
    .execute();
  await db.schema
    .createTable('minutes')
    .addColumn('workspace', 'text', required)
    .addColumn('id', 'text', required)
    .addColumn('hour', 'bigint', required)
    .addColumn('data', 'text', required)
    .addColumn('in_hours', 'integer', required)
    .addPrimaryKeyConstraint('minutes_key', ['workspace', 'id'])
    .execute();
  await db.schema
    .createIndex('minutes_to_keep')
    .on('minutes')
    .columns(['workspace', 'id'])
    .where(sql<boolean>`in_hours = 0`)
    .execute();
  await db.schema
    .createTable('hours')
    .addColumn('workspace', 'text', required)
    .addColumn('id', 'text', required)
    .addColumn('start', 'bigint', required)
    .addColumn('data', 'bytea', required)
    .addPrimaryKeyConstraint('hours_key', ['workspace', 'id'])
    .execute();
}

async function createComponents(db: Kysely<Database>): Promise<void> {
  await db.schema
    .createTable('components')
    .addColumn('workspace', 'text', required)
    .addColumn('identity', 'text', required)
    .addColumn('kind', 'text', required)
    .addColumn('id', 'text', required)
    .addColumn('pipeline', 'text', required)
    .addColumn('seen_at', 'bigint', required)
    .addPrimaryKeyConstraint('components_key', ['workspace', 'identity'])
    .execute();
  await db.schema
    .createIndex('components_by_id')
    .unique()
    .on('components')
    .columns(['workspace', 'id', 'kind'])
    .execute();
  await db.schema
    .createIndex('components_by_last_seen')
    .on('components')
    .columns(['workspace', 'seen_at', 'identity'])
    .execute();
  await db.schema
    .createTable('snapshots')
    .addColumn('workspace', 'text', required)
    .addColumn('id', 'text', required)
    .addColumn('part', 'integer', required)
    .addColumn('data', 'text', required)
    .addPrimaryKeyConstraint('snapshots_key', ['workspace', 'part', 'id'])
    .execute();
}

async function createAudit(db: Kysely<Database>): Promise<void> {
  await db.schema
    .createTable('audit')
    .addColumn('workspace', 'text', required)
    .addColumn('id', 'text', required)
    .addColumn('created_at', 'bigint', required)
    .addColumn('actor', 'text', required)
    .addColumn('action', 'text', required)
    .addColumn('target', 'text', required)
    .addColumn('result', 'text', required)
    .addColumn('reason', 'text', required)
    .addColumn('address', 'text', required)
    .addColumn('request_id', 'text', required)
    .addColumn('count', 'integer', required)
    .addPrimaryKeyConstraint('audit_key', ['workspace', 'id'])
    .execute();
  for (const column of ['actor', 'action', 'target'] as const)
    await db.schema
      .createIndex(`audit_by_${column}`)
      .on('audit')
      .columns(['workspace', column, 'id'])
      .execute();
}

async function createOrganizations(db: Kysely<Database>): Promise<void> {
  await db.schema
    .createTable('organizations')
    .addColumn('id', 'text', key)
    .addColumn('name', 'text', required)
    .addColumn('role_selector', 'integer', required)
    .addColumn('created_at', 'bigint', required)
    .addColumn('updated_at', 'bigint', required)
    .execute();
  await db.schema
    .createTable('workspaces')
    .addColumn('organization', 'text', required)
    .addColumn('id', 'text', required)
    .addColumn('alias', 'text', required)
    .addColumn('description', 'text', required)
    .addColumn('region', 'text', required)
    .addColumn('tags', 'text', required)
    .addColumn('state', 'text', required)
    .addColumn('created_at', 'bigint', required)
    .addColumn('updated_at', 'bigint', required)
    .addPrimaryKeyConstraint('workspaces_key', ['organization', 'id'])
    .execute();
  await db.schema
    .createTable('members')
    .addColumn('organization', 'text', required)
    .addColumn('user_id', 'text', required)
    .addColumn('role', 'text', required)
    .addColumn('created_by', 'text', required)
    .addColumn('created_at', 'bigint', required)
    .addColumn('updated_by', 'text', required)
    .addColumn('updated_at', 'bigint', required)
    .addPrimaryKeyConstraint('members_key', ['organization', 'user_id'])
    .execute();
  await db.schema.createIndex('members_by_user').on('members').columns(['user_id']).execute();
  await db.schema
    .createTable('member_roles')
    .addColumn('organization', 'text', required)
    .addColumn('user_id', 'text', required)
    .addColumn('workspace', 'text', required)
    .addColumn('role', 'text', required)
    .addPrimaryKeyConstraint('member_roles_key', ['organization', 'user_id', 'workspace'])
    .execute();
}

async function createCredentials(db: Kysely<Database>): Promise<void> {
  await db.schema
    .createTable('credentials')
    .addColumn('client_id', 'text', key)
    .addColumn('organization', 'text', required)
    .addColumn('name', 'text', required)
    .addColumn('description', 'text', required)
    .addColumn('enabled', 'integer', required)
    .addColumn('organization_role', 'text', required)
    .addColumn('ip_allowlist', 'text', required)
    .addColumn('version', 'bigint', required)
    .addColumn('expires_at', 'bigint')
    .addColumn('created_by', 'text', required)
    .addColumn('created_at', 'bigint', required)
    .addColumn('updated_by', 'text', required)
    .addColumn('updated_at', 'bigint', required)
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
    .addColumn('id', 'text', key)
    .addColumn('client_id', 'text', required)
    .addColumn('hash', 'text', required)
    .addColumn('created_at', 'bigint', required)
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
    .addColumn('client_id', 'text', required)
    .addColumn('workspace', 'text', required)
    .addColumn('role', 'text', required)
    .addPrimaryKeyConstraint('credential_roles_key', ['client_id', 'workspace'])
    .execute();
}

export const initial: Migration = {
  async up(db) {
    await createInstance(db);
    await createUsers(db);
    await createSessions(db);
    await createIncidents(db);
    await createDeliveries(db);
    await createGroups(db);
    await createMessages(db);
    await createAcknowledgements(db);
    await createSilences(db);
    await createConfiguration(db);
    await createIngest(db);
    await createComponents(db);
    await createAudit(db);
    await createOrganizations(db);
    await createCredentials(db);
  },
};
