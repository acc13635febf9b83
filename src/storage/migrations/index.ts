import type { Migration } from 'kysely';
import { initial } from './initial.ts';

/** In the order they run, which is that of their names. Only ever appended to: a database remembers the names. */
export const MIGRATIONS: Readonly<Record<string, Migration>> = {
  '0.2-initial': initial,
};
