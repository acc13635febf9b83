import { Kysely, sql } from 'kysely';
import { Client } from 'pg';
import { pagesOf } from './pages.ts';
import { postgresAddress } from './postgres-address.ts';
import { type Lent, postgresDialect } from './postgres-dialect.ts';
import { explainPostgres } from './postgres-errors.ts';
import { prepareReading } from './postgres-session.ts';
import type { Database } from './tables.ts';
import type { Row, View } from './view.ts';

/** A disk that takes the pages slowly must not end the view. */
const IDLE_MS = '600000';

const noTransaction = async (): Promise<void> => {
  throw new Error('a view is one transaction already');
};

/** Reads the database of a `postgres://` URL as it is at this moment. */
export async function openPostgresView(url: string): Promise<View> {
  const address = postgresAddress(url);
  const explain = (error: unknown) => explainPostgres(error, address.place, address.user);
  const client = new Client(address.config);
  // Without a listener a connection that is lost while idle would end the process; the next query says so.
  client.on('error', () => {});
  const close = () => client.end().catch(() => {});
  try {
    await client.connect();
    await prepareReading(client);
    await client.query("select set_config('idle_in_transaction_session_timeout', $1, false)", [IDLE_MS]);
    await client.query('begin isolation level repeatable read read only');
    await client.query('select 1');
  } catch (error) {
    await close();
    throw explain(error);
  }
  const lent: Lent = {
    query: statement => client.query(statement),
    begin: noTransaction,
    commit: noTransaction,
    rollback: noTransaction,
    giveBack() {},
  };
  const db = new Kysely<Database>({ dialect: postgresDialect(async () => lent, explain) });

  async function* pages(table: string): AsyncGenerator<readonly Row[]> {
    await sql`declare backup no scroll cursor for select * from ${sql.table(table)}`.execute(db);
    yield* pagesOf(async limit => (await sql<Row>`fetch ${sql.lit(limit)} from backup`.execute(db)).rows);
    await sql`close backup`.execute(db);
  }

  return { db, pages, close };
}
