import type { Kysely } from 'kysely';
import { columnsOf, countRows, refuseDuplicate } from '../queries.ts';
import type { Database, MessageTable } from '../tables.ts';
import type { Page, PageRequest, WithoutWorkspace } from '../types.ts';

export type MessageRow = WithoutWorkspace<MessageTable>;

export const MESSAGE_COLUMNS = columnsOf<MessageRow>({
  id: true,
  severity: true,
  title: true,
  text: true,
  time: true,
  group_name: true,
  metadata: true,
});

export interface MessageStore {
  get(id: string): Promise<MessageRow | undefined>;
  /** Newest first. */
  list(page: PageRequest): Promise<Page<MessageRow>>;
}

export function messageStore(db: Kysely<Database>, workspace: string): MessageStore {
  const all = () => db.selectFrom('messages').where('workspace', '=', workspace);

  return {
    get: id => all().where('id', '=', id).select(MESSAGE_COLUMNS).executeTakeFirst(),
    async list({ offset, limit }) {
      const newestFirst = all().orderBy('time', 'desc').orderBy('id', 'desc');
      const [rows, total] = await Promise.all([
        newestFirst.select(MESSAGE_COLUMNS).offset(offset).limit(limit).execute(),
        countRows(all()),
      ]);
      return { rows, total };
    },
  };
}

export const addMessage = (db: Kysely<Database>, workspace: string, row: MessageRow): Promise<void> =>
  refuseDuplicate(
    db
      .insertInto('messages')
      .values({ ...row, workspace })
      .execute(),
    `message '${row.id}'`,
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
