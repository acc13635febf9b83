import type { Migration } from 'kysely';
import { firstTables } from './20260101000000-first-tables.ts';
import { secretsAndVersions } from './20260102000000-secrets-and-versions.ts';

/** In the order they run, by the name of their file. Only ever appended to: a database remembers the names. */
export const MIGRATIONS: Readonly<Record<string, Migration>> = {
  '20260101000000-first-tables': firstTables,
  '20260102000000-secrets-and-versions': secretsAndVersions,
};
