import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { DatabaseUrl } from '../../src/lib/secret.ts';
import { openStorage } from '../../src/storage/open.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { createDatabaseOn, type TestPostgresDatabase } from '../helpers/postgres.ts';
import { type PostgresServer, startPostgres } from '../helpers/postgres-server.ts';

/** A server of a file of tests, which may stop and configure it, with a database for each test. */
export interface OwnPostgres {
  readonly server: PostgresServer;
  readonly database: TestPostgresDatabase;
  readonly dataFolder: string;
  /** Opens the database of the test, or another, until the test ends. */
  open(url?: string): Promise<Storage>;
  /** Runs when the test ends, what was noted last first. */
  readonly undo: (() => unknown)[];
}

export function useOwnPostgres(name: string): OwnPostgres {
  let server: PostgresServer;
  let database: TestPostgresDatabase;
  let dataFolder: string;
  const undo: (() => unknown)[] = [];

  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server.remove());
  beforeEach(async () => {
    dataFolder = await mkdtemp(join(tmpdir(), `headgate-${name}-`));
    database = await createDatabaseOn(server.url('postgres'));
  });
  afterEach(async () => {
    for (const step of undo.splice(0).reverse()) await step();
    await database.remove();
    await rm(dataFolder, { recursive: true, force: true });
  });

  return {
    get server() {
      return server;
    },
    get database() {
      return database;
    },
    get dataFolder() {
      return dataFolder;
    },
    async open(url = database.url) {
      const storage = await openStorage({
        url: new DatabaseUrl(url),
        dataFolder,
        logger: silentLogger,
        clock: systemClock,
      });
      undo.push(() => storage.close());
      return storage;
    },
    undo,
  };
}
