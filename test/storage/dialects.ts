import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLogger } from '../../src/lib/logger.ts';
import { openStorage } from '../../src/storage/open.ts';
import { createPostgresDatabase } from '../helpers/postgres.ts';
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

const postgres: TestDialect = {
  name: 'PostgreSQL',
  async create() {
    const dataFolder = await mkdtemp(join(tmpdir(), 'headgate-contract-'));
    const { url, remove } = await createPostgresDatabase();
    return {
      open: clock => openStorage({ url, dataFolder, logger: silentLogger, clock }),
      async remove() {
        await remove();
        await rm(dataFolder, { recursive: true, force: true });
      },
    };
  },
};

export const dialects: readonly TestDialect[] = [sqlite, postgres];
