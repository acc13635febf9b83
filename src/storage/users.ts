import type { Kysely } from 'kysely';
import { orConflict } from './conflicts.ts';
import { countOf } from './counting.ts';
import type { UserStore } from './storage.ts';
import type { Database, UserTable } from './tables.ts';

export function userStore(db: Kysely<Database>): UserStore {
  return {
    count: () => countOf(db.selectFrom('users')),
    byName: username =>
      db.selectFrom('users').where('username', '=', username).selectAll().executeTakeFirst(),
    byId: id => db.selectFrom('users').where('id', '=', id).selectAll().executeTakeFirst(),
  };
}

/** Refused with `conflict` when the name is taken. */
export async function addUser(db: Kysely<Database>, user: UserTable): Promise<void> {
  await orConflict(
    db.insertInto('users').values(user).execute(),
    `user '${user.username}' exists already; choose another name`,
  );
}
