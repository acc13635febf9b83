import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { startPostgres } from './postgres-server.ts';

const USUAL_SERVER = 'postgres://root@127.0.0.1:5432/postgres';
const VARIABLE = 'TEST_POSTGRES_URL';
/** What the names of the databases of this run begin with. */
const PREFIX = 'TEST_POSTGRES_PREFIX';

/**
 * Finds the server for the tests of this process and of those it starts: the one at 127.0.0.1:5432 when it lets us in,
 * else one of our own. The call it answers removes what tests left there.
 */
export async function findPostgres(): Promise<() => Promise<void> | void> {
  const prefix = `headgate_test_${randomBytes(4).toString('hex')}`;
  process.env[PREFIX] = prefix;
  if (await answers(USUAL_SERVER)) {
    process.env[VARIABLE] = USUAL_SERVER;
    return () => dropDatabases(USUAL_SERVER, prefix);
  }
  const own = await startPostgres();
  process.env[VARIABLE] = own.url('postgres');
  return own.remove;
}

async function answers(url: string): Promise<boolean> {
  try {
    await administer(url, 'select 1');
    return true;
  } catch {
    return false;
  }
}

async function administer(url: string, text: string): Promise<void> {
  const client = new Client(url);
  client.on('error', () => {});
  await client.connect();
  try {
    await client.query(text);
  } finally {
    await client.end();
  }
}

async function dropDatabases(at: string, prefix: string): Promise<void> {
  const client = new Client(at);
  await client.connect();
  const { rows } = await client.query('select datname from pg_database where starts_with(datname, $1)', [
    `${prefix}_`,
  ]);
  for (const { datname } of rows) await client.query(`drop database ${datname} with (force)`);
  await client.end();
}

export interface TestPostgresDatabase {
  readonly name: string;
  readonly url: string;
  /** Runs statements past the storage. */
  run(text: string): Promise<void>;
  /** `alter database` with these words, from outside of it. */
  alter(words: string): Promise<void>;
  remove(): Promise<void>;
}

/** An empty database, of a name that nothing else has, on the server that is at hand. */
export async function createPostgresDatabase(options = ''): Promise<TestPostgresDatabase> {
  const at = process.env[VARIABLE];
  if (at === undefined) throw new Error('no server was looked for; call findPostgres first');
  return createDatabaseOn(at, options);
}

/** The same on the server whose database `at` may be used to create others. */
export async function createDatabaseOn(at: string, options = ''): Promise<TestPostgresDatabase> {
  const name = `${process.env[PREFIX] ?? 'headgate_test'}_${randomBytes(6).toString('hex')}`;
  await administer(at, `create database ${name} ${options}`);
  const url = at.replace(/\/[^/]*$/, `/${name}`);
  return {
    name,
    url,
    run: text => administer(url, text),
    alter: words => administer(at, `alter database ${name} ${words}`),
    remove: () => administer(at, `drop database ${name} with (force)`),
  };
}
