import { Kysely, sql } from 'kysely';
import { Client } from 'pg';
import type { Database } from '../tables.ts';
import { type DatabaseRow, type ReadView, readPages } from '../view.ts';
import { postgresAddress } from './address.ts';
import { type BorrowedConnection, postgresDialect } from './dialect.ts';
import { explainPostgres } from './errors.ts';
import { assertOwnSessions, prepareReading } from './session.ts';

/** A disk that takes the pages slowly must not end the view. */
const IDLE_TIMEOUT_MS = '600000';

const refuseTransaction = async (): Promise<void> => {
  throw new Error('a view is one transaction already');
};

/** Reads the database of a `postgres://` URL as it is at this moment. */
export async function openPostgresView(url: string): Promise<ReadView> {
  const address = postgresAddress(url);
  const explain = (error: unknown) => explainPostgres(error, address.label, address.user);
  const client = new Client(address.config);
  // Without a listener a connection that is lost while idle would end the process; the next query says so.
  client.on('error', () => {});
  const close = () => client.end().catch(() => {});
  try {
    await assertOwnSessions(address);
    await client.connect();
    await prepareReading(client);
    await client.query("select set_config('idle_in_transaction_session_timeout', $1, false)", [
      IDLE_TIMEOUT_MS,
    ]);
    await client.query('begin isolation level repeatable read read only');
    await client.query('select 1');
  } catch (error) {
    await close();
    throw explain(error);
  }
  const borrowed: BorrowedConnection = {
    query: statement => client.query(statement),
    begin: refuseTransaction,
    commit: refuseTransaction,
    rollback: refuseTransaction,
    release() {},
  };
  const db = new Kysely<Database>({ dialect: postgresDialect(async () => borrowed, explain) });

  async function* pages(table: string): AsyncGenerator<readonly DatabaseRow[]> {
    await sql`declare backup no scroll cursor for select * from ${sql.table(table)}`.execute(db);
    yield* readPages(
      async limit => (await sql<DatabaseRow>`fetch ${sql.lit(limit)} from backup`.execute(db)).rows,
    );
    await sql`close backup`.execute(db);
  }

  return { db, pages, close };
}
