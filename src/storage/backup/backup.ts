import { existsSync } from 'node:fs';
import { link, rm, stat } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { createGzip } from 'node:zlib';
import { AppError, codeOf } from '../../lib/errors.ts';
import { readKeyRing } from '../../lib/keyring.ts';
import { stagePrivateFile, syncFolderOf } from '../../lib/private-file.ts';
import { openView, type ViewOptions } from '../open-view.ts';
import { placeOf } from '../place.ts';
import { backupBytes } from './write.ts';

export interface BackupOptions extends ViewOptions {
  /** File of the key ring. */
  readonly keyRing: string;
  /** The backup; nothing may be there. */
  readonly to: string;
  /** Epoch ms. */
  readonly now: number;
}

export interface BackupFacts {
  readonly file: string;
  readonly bytes: number;
  /** How many rows each table has. */
  readonly rows: Readonly<Record<string, number>>;
  readonly hasKeyRing: boolean;
}

/**
 * Writes the store as it is at one moment, and the key ring, to one file for its owner alone. A server may run
 * meanwhile. Rejects with `conflict` when something is in the file's place, `unavailable` when it cannot be written,
 * and as `openView` does.
 */
export async function writeBackup(options: BackupOptions): Promise<BackupFacts> {
  const { to } = options;
  if (existsSync(to)) throw occupied(to);
  const view = await openView(options);
  const rows: Record<string, number> = {};
  try {
    // After the view, so that the ring holds every key that its rows need.
    const keyRing = (await readKeyRing(options.keyRing)) ?? null;
    const bytes = backupBytes({
      view,
      isPostgres: placeOf(options.url).kind === 'postgres',
      keyRing,
      now: options.now,
      counted(table, count) {
        rows[table] = count;
      },
    });
    await place(to, zipped(bytes));
    return { file: to, bytes: (await stat(to)).size, rows, hasKeyRing: keyRing !== null };
  } finally {
    await view.close();
  }
}

const occupied = (file: string): AppError =>
  new AppError('conflict', `'${file}' exists already; choose another name for the backup`);

async function* zipped(bytes: AsyncIterable<Buffer>): AsyncGenerator<Uint8Array> {
  const source = Readable.from(bytes, { objectMode: false });
  const gzip = createGzip();
  source.on('error', error => gzip.destroy(error));
  for await (const chunk of source.pipe(gzip)) if (chunk instanceof Uint8Array) yield chunk;
}

async function place(to: string, bytes: AsyncIterable<Uint8Array>): Promise<void> {
  try {
    const staged = await stagePrivateFile(to, bytes);
    try {
      await link(staged, to);
    } finally {
      await rm(staged);
    }
    await syncFolderOf(to);
  } catch (error) {
    if (codeOf(error) === 'EEXIST') throw occupied(to);
    if (error instanceof AppError || !/^E[A-Z]+$/.test(codeOf(error))) throw error;
    throw new AppError('unavailable', `'${to}' cannot be written: ${codeOf(error)}`, { cause: error });
  }
}
