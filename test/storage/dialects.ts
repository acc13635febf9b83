import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { openStorage } from '../../src/storage/open.ts';
import { createPostgresDatabase } from '../helpers/postgres.ts';
import { insertions, type TableContent } from '../helpers/table-rows.ts';
import type { TestDialect } from './contract.ts';

const sqlite: TestDialect = {
  name: 'SQLite',
  async create() {
    const dataFolder = await mkdtemp(join(tmpdir(), 'headgate-contract-'));
    return {
      open: clock => openStorage({ url: 'sqlite:headgate.db', dataFolder, logger: silentLogger, clock }),
      remove: () => rm(dataFolder, { recursive: true, force: true }),
    };
  },
};

interface PostgresStore {
  readonly url: string;
  readonly dataFolder: string;
  readonly tables: readonly TableContent[];
}

/** Databases that no test uses: to create one takes many times what it takes to empty it. */
const free: PostgresStore[] = [];

async function withClient<Result>(url: string, work: (client: Client) => Promise<Result>): Promise<Result> {
  const client = new Client(url);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

async function createStore(): Promise<PostgresStore> {
  const dataFolder = await mkdtemp(join(tmpdir(), 'headgate-contract-'));
  const { url } = await createPostgresDatabase();
  await (await openStorage({ url, dataFolder, logger: silentLogger, clock: systemClock })).close();
  const tables = await withClient(url, async client => {
    const names = await client.query("select tablename from pg_tables where schemaname = 'public'");
    const found: TableContent[] = [];
    for (const { tablename: name } of names.rows)
      found.push({ name, rows: (await client.query(`select * from "${name}"`)).rows });
    return found;
  });
  return { url, dataFolder, tables };
}

const empty = ({ url, tables }: PostgresStore): Promise<void> =>
  withClient(url, async client => {
    await client.query(`truncate ${tables.map(({ name }) => `"${name}"`).join(', ')} restart identity`);
    for (const { text, values } of insertions(tables, number => `$${number}`))
      await client.query(text, values);
  });

const postgres: TestDialect = {
  name: 'PostgreSQL',
  async create() {
    const store = free.pop() ?? (await createStore());
    const { url, dataFolder } = store;
    return {
      open: clock => openStorage({ url, dataFolder, logger: silentLogger, clock }),
      async remove() {
        await empty(store);
        free.push(store);
      },
    };
  },
};

export const dialects: readonly TestDialect[] = [sqlite, postgres];
