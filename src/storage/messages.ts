import type { Kysely } from 'kysely';
import { MESSAGE_COLUMNS } from './columns.ts';
import { orConflict } from './conflicts.ts';
import { countOf } from './counting.ts';
import type { MessageRow, MessageStore } from './storage.ts';
import type { Database } from './tables.ts';

export function messageStore(db: Kysely<Database>, workspace: string): MessageStore {
  const all = () => db.selectFrom('messages').where('workspace', '=', workspace);

  return {
    get: id => all().where('id', '=', id).select(MESSAGE_COLUMNS).executeTakeFirst(),
    async list({ offset, limit }) {
      const newestFirst = all().orderBy('time', 'desc').orderBy('id', 'desc');
      const [rows, total] = await Promise.all([
        newestFirst.select(MESSAGE_COLUMNS).offset(offset).limit(limit).execute(),
        countOf(all()),
      ]);
      return { rows, total };
    },
  };
}

export const addMessage = (db: Kysely<Database>, workspace: string, row: MessageRow): Promise<void> =>
  orConflict(
    db
      .insertInto('messages')
      .values({ ...row, workspace })
      .execute(),
    `message '${row.id}' exists already; choose another id`,
  );

export const removeMessage = (
  db: Kysely<Database>,
  workspace: string,
  id: string,
): Promise<MessageRow | undefined> =>
  db
    .deleteFrom('messages')
    .where('workspace', '=', workspace)
    .where('id', '=', id)
    .returning(MESSAGE_COLUMNS)
    .executeTakeFirst();
