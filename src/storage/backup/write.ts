import { createHash } from 'node:crypto';
import { VERSION } from '../../lib/version.ts';
import { migrationsRun } from '../migrate.ts';
import type { View } from '../view.ts';
import { FORMAT, type Header, written } from './format.ts';
import { keptTables } from './tables.ts';

export interface BackupSource {
  readonly view: View;
  readonly isPostgres: boolean;
  /** The text of the key ring's file; null when nothing is encrypted yet. */
  readonly keyRing: string | null;
  /** Epoch ms. */
  readonly now: number;
  /** Told how many rows each table has, when it has been read. */
  readonly counted: (table: string, rows: number) => void;
}

/** The lines of a backup as bytes, a page of rows at a time. */
export async function* backupBytes(source: BackupSource): AsyncGenerator<Buffer> {
  const { view, keyRing } = source;
  const hash = createHash('sha256');
  const counts: Record<string, number> = {};

  function bytesOf(lines: readonly unknown[]): Buffer {
    const bytes = Buffer.from(lines.map(line => `${JSON.stringify(line)}\n`).join(''));
    hash.update(bytes);
    return bytes;
  }

  const header: Header = {
    headgate: 'backup',
    format: FORMAT,
    version: VERSION,
    createdAt: source.now,
    migrations: [...(await migrationsRun(view.db))],
  };
  yield bytesOf([header]);
  for (const { name, columns } of await keptTables(view.db, source.isPostgres)) {
    yield bytesOf([{ table: name, columns }]);
    let rows = 0;
    for await (const page of view.pages(name)) {
      rows += page.length;
      yield bytesOf(page.map(row => written(row, columns)));
    }
    counts[name] = rows;
    source.counted(name, rows);
  }
  yield bytesOf([{ keyRing }]);
  yield Buffer.from(`${JSON.stringify({ rows: counts, sha256: hash.digest('hex') })}\n`);
}
