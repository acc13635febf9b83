import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { AppError } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import type { Secret } from '../lib/secret.ts';
import { placeOf } from './place.ts';
import type { Snapshot } from './snapshot.ts';
import { openSqliteSnapshot } from './sqlite-snapshot.ts';

export interface SnapshotOptions {
  /** As `StorageOptions` has it. */
  readonly url: string | Secret;
  readonly dataFolder: string;
  readonly logger: Logger;
}

/** Rejects with `not-found` when there is no database yet, else as `openStorage` does. */
export async function openSnapshot({ url, dataFolder, logger }: SnapshotOptions): Promise<Snapshot> {
  const place = placeOf(url);
  if (place.kind === 'postgres') {
    const { openPostgresSnapshot } = await import('./postgres-snapshot.ts');
    return openPostgresSnapshot(place.url);
  }
  const file = resolve(dataFolder, place.file);
  if (!existsSync(file))
    throw new AppError('not-found', `there is no store '${file}'; name the right folder with --data`);
  return openSqliteSnapshot(file, logger);
}
