import type { Kysely } from 'kysely';
import { AppError } from '../lib/errors.ts';
import { EVENT_COLUMNS } from './columns.ts';
import type { EventStore } from './storage.ts';
import type { Database } from './tables.ts';

const MAX_IDS = 500;

export function eventStore(db: Kysely<Database>, workspace: string): EventStore {
  const all = () => db.selectFrom('events').where('workspace', '=', workspace).select(EVENT_COLUMNS);

  return {
    get: id => all().where('id', '=', id).executeTakeFirst(),
    async byIds(ids) {
      if (ids.length > MAX_IDS) {
        throw new AppError(
          'invalid-request',
          `${ids.length} event ids were asked for; at most ${MAX_IDS} are allowed`,
        );
      }
      if (ids.length === 0) return [];
      return all().where('id', 'in', ids).orderBy('id').execute();
    },
  };
}
