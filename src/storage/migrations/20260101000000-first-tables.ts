import { type Kysely, type Migration, sql } from 'kysely';
import type { Database } from '../tables.ts';

// Times are 'bigint', because PostgreSQL's integer has 32 bits.

async function createInstallation(db: Kysely<Database>): Promise<void> {
  await db.schema
    .createTable('instance')
    .addColumn('name', 'text', column => column.primaryKey().notNull())
    .addColumn('value', 'text', column => column.notNull())
    .execute();
  await db.schema
    .createTable('keys')
    .addColumn('kid', 'text', column => column.primaryKey().notNull())
    .addColumn('algorithm', 'text', column => column.notNull())
    .addColumn('private_key', 'text', column => column.notNull())
    .addColumn('public_key', 'text', column => column.notNull())
    .addColumn('created_at', 'bigint', column => column.notNull())
    .execute();
  await db.schema
    .createTable('users')
    .addColumn('id', 'text', column => column.primaryKey().notNull())
    .addColumn('username', 'text', column => column.notNull())
    .addColumn('password', 'text', column => column.notNull())
    .addColumn('force_password_change', 'integer', column => column.notNull())
    .addColumn('role', 'text', column => column.notNull())
    .addColumn('created_at', 'bigint', column => column.notNull())
    .execute();
  await db.schema.createIndex('users_username').unique().on('users').column('username').execute();
}

async function createIncidents(db: Kysely<Database>): Promise<void> {
  await db.schema
    .createTable('incidents')
    .addColumn('workspace', 'text', column => column.notNull())
    .addColumn('id', 'text', column => column.notNull())
    .addColumn('notification', 'text', column => column.notNull())
    .addColumn('condition', 'text', column => column.notNull())
    .addColumn('subject', 'text', column => column.notNull())
    .addColumn('state', 'text', column => column.notNull())
    .addColumn('seq', 'integer', column => column.notNull())
    .addColumn('opened_at', 'bigint', column => column.notNull())
    .addColumn('closed_at', 'bigint')
    .addColumn('close_reason', 'text')
    .addColumn('severity', 'text', column => column.notNull())
    .addColumn('text', 'text', column => column.notNull())
    .addColumn('rule', 'text', column => column.notNull())
    .addColumn('told', 'text', column => column.notNull())
    .addColumn('last_event_at', 'bigint', column => column.notNull())
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
    .createTable('events')
    .addColumn('workspace', 'text', column => column.notNull())
    .addColumn('id', 'text', column => column.notNull())
    .addColumn('incident_id', 'text', column => column.notNull())
    .addColumn('body', 'text', column => column.notNull())
    .addColumn('created_at', 'bigint', column => column.notNull())
    .addPrimaryKeyConstraint('events_key', ['workspace', 'id'])
    .execute();
}

async function createDeliveries(db: Kysely<Database>): Promise<void> {
  await db.schema
    .createTable('deliveries')
    .addColumn('workspace', 'text', column => column.notNull())
    .addColumn('id', 'text', column => column.notNull())
    .addColumn('target', 'text', column => column.notNull())
    .addColumn('notification', 'text', column => column.notNull())
    .addColumn('subject', 'text', column => column.notNull())
    .addColumn('incident_id', 'text', column => column.notNull())
    .addColumn('event_id', 'text', column => column.notNull())
    .addColumn('seq', 'integer', column => column.notNull())
    .addColumn('status', 'text', column => column.notNull())
    .addColumn('state', 'text', column => column.notNull())
    .addColumn('attempts', 'integer', column => column.notNull())
    .addColumn('next_at', 'bigint')
    .addColumn('last_status', 'integer')
    .addColumn('last_error', 'text')
    .addColumn('created_at', 'bigint', column => column.notNull())
    .addColumn('settled_at', 'bigint')
    .addPrimaryKeyConstraint('deliveries_key', ['workspace', 'id'])
    .execute();
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
  for (const column of ['state', 'target', 'notification', 'incident_id'] as const) {
    await db.schema
      .createIndex(`deliveries_by_${column}`)
      .on('deliveries')
      .columns(['workspace', column, 'id'])
      .execute();
  }
  await db.schema
    .createTable('attempts')
    .addColumn('workspace', 'text', column => column.notNull())
    .addColumn('delivery_id', 'text', column => column.notNull())
    .addColumn('number', 'integer', column => column.notNull())
    .addColumn('started_at', 'bigint', column => column.notNull())
    .addColumn('duration_ms', 'integer', column => column.notNull())
    .addColumn('outcome', 'text', column => column.notNull())
    .addColumn('http_status', 'integer')
    .addColumn('reason', 'text')
    .addColumn('answer', 'text')
    .addPrimaryKeyConstraint('attempts_key', ['workspace', 'delivery_id', 'number'])
    .execute();
}

async function createMessages(db: Kysely<Database>): Promise<void> {
  await db.schema
    .createTable('messages')
    .addColumn('workspace', 'text', column => column.notNull())
    .addColumn('id', 'text', column => column.notNull())
    .addColumn('severity', 'text', column => column.notNull())
    .addColumn('title', 'text', column => column.notNull())
    .addColumn('text', 'text', column => column.notNull())
    .addColumn('time', 'bigint', column => column.notNull())
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

export const firstTables: Migration = {
  async up(db) {
    await createInstallation(db);
    await createIncidents(db);
    await createDeliveries(db);
    await createMessages(db);
  },
};
