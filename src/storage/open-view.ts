import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { AppError } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import type { Secret } from '../lib/secret.ts';
import { placeOf } from './place.ts';
import { openSqliteView } from './sqlite-view.ts';
import type { View } from './view.ts';

export interface ViewOptions {
  /** As `StorageOptions` has it. */
  readonly url: string | Secret;
  readonly dataFolder: string;
  readonly logger: Logger;
}

/** Rejects with `not-found` when there is no database yet, else as `openStorage` does. */
export async function openView({ url, dataFolder, logger }: ViewOptions): Promise<View> {
  const place = placeOf(url);
  if (place.kind === 'postgres') {
    const { openPostgresView } = await import('./postgres-view.ts');
    return openPostgresView(place.url);
  }
  const file = resolve(dataFolder, place.file);
  if (!existsSync(file))
    throw new AppError('not-found', `there is no store '${file}'; name the right folder with --data`);
  return openSqliteView(file, logger);
}
