import { AppError } from '../lib/errors.ts';
import type { Secret } from '../lib/secret.ts';

/** Which database a URL means: a file of the data folder, or a server. */
export type DatabaseLocation =
  | { readonly kind: 'sqlite'; readonly file: string }
  | { readonly kind: 'postgres'; readonly url: string };

const POSTGRES_URL = /^postgres(ql)?:\/\//i;
/** The extension distinguishes the database from the lock and the other files of the folder. */
const SQLITE_URL = /^sqlite:([\w-][\w.-]*\.db)$/;

/** Throws `invalid-request` for a URL that is not allowed. */
export function parseStorageUrl(storageUrl: string | Secret): DatabaseLocation {
  const url = typeof storageUrl === 'string' ? storageUrl : storageUrl.reveal();
  if (POSTGRES_URL.test(url)) return { kind: 'postgres', url };
  const file = SQLITE_URL.exec(url)?.[1];
  if (file !== undefined) return { kind: 'sqlite', file };
  // The whole URL may hold a password.
  const scheme = /^[a-z0-9+.-]+:/i.exec(url)?.[0] ?? 'no scheme';
  throw new AppError(
    'invalid-request',
    `storage.url (${scheme}) is not allowed; write sqlite:<name>.db, a file directly below the data directory, ` +
      'or postgres://user:password@host:port/database',
  );
}
