import type { Kysely } from 'kysely';
import { MESSAGE_COLUMNS } from './columns.ts';
import { countOf } from './counting.ts';
import type { MessageStore } from './storage.ts';
import type { Database } from './tables.ts';

export function messageStore(db: Kysely<Database>, workspace: string): MessageStore {
  const shown = () => db.selectFrom('messages').where('workspace', '=', workspace).where('hidden', '=', 0);

  return {
    async list({ offset, limit }) {
      const newestFirst = shown().orderBy('time', 'desc').orderBy('id', 'desc');
      const [rows, total] = await Promise.all([
        newestFirst.select(MESSAGE_COLUMNS).offset(offset).limit(limit).execute(),
        countOf(shown()),
      ]);
      return { rows, total };
    },
  };
}
