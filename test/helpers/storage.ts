import { readdirSync, rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { openStorage } from '../../src/storage/open.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { insertions, type TableContent } from './table-rows.ts';

export interface TestStorage {
  readonly storage: Storage;
  /** The data folder. */
  readonly folder: string;
  close(): Promise<void>;
}

interface Kept {
  readonly storage: Storage;
  readonly folder: string;
  /** Empties every table, but for what a new store holds. */
  readonly empty: () => void;
}

/** Stores that no test uses: to open one takes a hundred times what it takes to empty it. */
const free: Kept[] = [];

/** Storage on the files it is shipped with, as new. */
export async function openTestStorage(): Promise<TestStorage> {
  const { storage, folder, empty } = (await takeFree()) ?? (await openNew());
  return {
    storage,
    folder,
    async close() {
      free.push({ storage, folder, empty });
    },
  };
}

async function takeFree(): Promise<Kept | undefined> {
  for (let kept = free.pop(); kept !== undefined; kept = free.pop()) {
    kept.empty();
    // A test may have closed it.
    const isOpen = await kept.storage
      .in('default')
      .incidents.open()
      .then(
        () => true,
        () => false,
      );
    if (isOpen) return kept;
  }
  return undefined;
}

async function openNew(): Promise<Kept> {
  const folder = await mkdtemp(join(tmpdir(), 'headgate-storage-'));
  const storage = await openStorage({
    url: 'sqlite:headgate.db',
    dataFolder: folder,
    logger: silentLogger,
    clock: systemClock,
  });
  return { storage, folder, empty: emptier(folder) };
}

function emptier(folder: string): () => void {
  const database = new Sqlite(join(folder, 'headgate.db'));
  database.pragma('foreign_keys = off');
  const tables = database
    .prepare<[], { name: string }>(
      "select name from sqlite_master where type = 'table' and name not like 'sqlite_%'",
    )
    .all()
    .map(({ name }): TableContent => {
      const rows = database.prepare<[], Record<string, unknown>>(`select * from "${name}"`).all();
      return { name, rows };
    });
  const emptyTables = database.transaction(() => {
    for (const { name } of tables) database.prepare(`delete from "${name}"`).run();
    for (const { text, values } of insertions(tables, () => '?')) database.prepare(text).run(values);
  });
  return () => {
    for (const name of readdirSync(folder))
      if (!name.startsWith('headgate.db') && name !== 'lock') rmSync(join(folder, name), { recursive: true });
    emptyTables();
  };
}
