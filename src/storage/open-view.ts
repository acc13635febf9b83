import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { AppError } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import type { Secret } from '../lib/secret.ts';
import { openSqliteView } from './sqlite/view.ts';
import { parseStorageUrl } from './storage-url.ts';
import type { ReadView } from './view.ts';

export interface ViewOptions {
  /** As `StorageOptions` has it. */
  readonly url: string | Secret;
  readonly dataFolder: string;
  readonly logger: Logger;
  /** Reads SQLite in the thread that calls, which each read blocks. */
  readonly isInThread?: boolean;
}

/** Rejects with `not-found` when there is no database yet, else as `openStorage` does. */
export async function openView({
  url,
  dataFolder,
  logger,
  isInThread = false,
}: ViewOptions): Promise<ReadView> {
  const location = parseStorageUrl(url);
  if (location.kind === 'postgres') {
    const { openPostgresView } = await import('./postgres/view.ts');
    return openPostgresView(location.url);
  }
  const file = resolve(dataFolder, location.file);
  if (!existsSync(file))
    throw new AppError('not-found', `there is no store '${file}'; name the right folder with --data`);
  return openSqliteView(file, logger, isInThread);
}
