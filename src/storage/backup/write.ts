import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { link, rm, stat } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { createGzip } from 'node:zlib';
import { AppError, alreadyExists, codeOf } from '../../lib/errors.ts';
import { readKeyRing } from '../../lib/keyring.ts';
import { stagePrivateFile, syncFolderOf } from '../../lib/private-file.ts';
import { VERSION } from '../../lib/version.ts';
import { assertMadeSince02, migrationsRun } from '../migrations/migrate.ts';
import { openView, type ViewOptions } from '../open-view.ts';
import { parseStorageUrl } from '../storage-url.ts';
import type { ReadView } from '../view.ts';
import { type BackupHeader, backupTables, encodeRow, FORMAT } from './format.ts';

export interface BackupOptions extends ViewOptions {
  /** File of the key ring. */
  readonly keyRing: string;
  /** The backup; nothing may be there. */
  readonly to: string;
  /** Epoch ms. */
  readonly now: number;
}

export interface BackupResult {
  readonly file: string;
  readonly bytes: number;
  /** The number of rows of each table. */
  readonly rows: Readonly<Record<string, number>>;
  readonly hasKeyRing: boolean;
}

/**
 * Writes the store as it is at one moment, and the key ring, to one file for its owner alone. A server may run
 * meanwhile. Rejects with `conflict` when something is in the file's place or the store was made before 0.2, `unavailable` when it cannot be written,
 * and as `openView` does.
 */
export async function writeBackup(options: BackupOptions): Promise<BackupResult> {
  const { to } = options;
  if (existsSync(to)) throw fileExists(to);
  const view = await openView(options);
  const rows: Record<string, number> = {};
  try {
    const migrations = await migrationsRun(view.db);
    assertMadeSince02(migrations);
    // After the view, so that the ring holds every key that its rows need.
    const keyRing = (await readKeyRing(options.keyRing)) ?? null;
    const bytes = backupBytes({
      view,
      migrations,
      isPostgres: parseStorageUrl(options.url).kind === 'postgres',
      keyRing,
      now: options.now,
      counted(table, count) {
        rows[table] = count;
      },
    });
    await publishFile(to, gzipped(bytes));
    return { file: to, bytes: (await stat(to)).size, rows, hasKeyRing: keyRing !== null };
  } finally {
    await view.close();
  }
}

const fileExists = (file: string): AppError =>
  alreadyExists(`'${file}'`, 'choose another name for the backup');

async function* gzipped(bytes: AsyncIterable<Buffer>): AsyncGenerator<Uint8Array> {
  const source = Readable.from(bytes, { objectMode: false });
  const gzip = createGzip();
  source.on('error', error => gzip.destroy(error));
  for await (const chunk of source.pipe(gzip)) if (chunk instanceof Uint8Array) yield chunk;
}

async function publishFile(to: string, bytes: AsyncIterable<Uint8Array>): Promise<void> {
  try {
    const staged = await stagePrivateFile(to, bytes);
    try {
      await link(staged, to);
    } finally {
      await rm(staged);
    }
    await syncFolderOf(to);
  } catch (error) {
    if (codeOf(error) === 'EEXIST') throw fileExists(to);
    if (error instanceof AppError || !/^E[A-Z]+$/.test(codeOf(error))) throw error;
    throw new AppError('unavailable', `'${to}' cannot be written: ${codeOf(error)}`, { cause: error });
  }
}

interface BackupSource {
  readonly view: ReadView;
  /** The names of those that ran. */
  readonly migrations: readonly string[];
  readonly isPostgres: boolean;
  /** The text of the key ring's file; null when nothing is encrypted yet. */
  readonly keyRing: string | null;
  /** Epoch ms. */
  readonly now: number;
  /** Called with the number of rows of each table once it has been read. */
  readonly counted: (table: string, rows: number) => void;
}

/** The lines of a backup as bytes, a page of rows at a time. */
async function* backupBytes(source: BackupSource): AsyncGenerator<Buffer> {
  const { view, keyRing } = source;
  const hash = createHash('sha256');
  const counts: Record<string, number> = {};

  function bytesOf(lines: readonly unknown[]): Buffer {
    const bytes = Buffer.from(lines.map(line => `${JSON.stringify(line)}\n`).join(''));
    hash.update(bytes);
    return bytes;
  }

  const header: BackupHeader = {
    headgate: 'backup',
    format: FORMAT,
    version: VERSION,
    createdAt: source.now,
    migrations: [...source.migrations],
  };
  yield bytesOf([header]);
  for (const { name, columns } of await backupTables(view.db, source.isPostgres)) {
    yield bytesOf([{ table: name, columns }]);
    let rows = 0;
    for await (const page of view.pages(name)) {
      rows += page.length;
      yield bytesOf(page.map(row => encodeRow(row, columns)));
    }
    counts[name] = rows;
    source.counted(name, rows);
  }
  yield bytesOf([{ keyRing }]);
  yield Buffer.from(`${JSON.stringify({ rows: counts, sha256: hash.digest('hex') })}\n`);
}
