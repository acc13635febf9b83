import type { Kysely } from 'kysely';
import type { Database, SessionTable } from '../tables.ts';

export type SessionRow = SessionTable;

export interface SessionStore {
  byId(id: string): Promise<SessionRow | undefined>;
}

export interface SessionTransaction {
  /** Keeps the `most` newest sessions of the user, this one among them. */
  addSession(session: SessionRow, most: number): Promise<void>;
  /** Records that the session was used, if it is still there. */
  touchSession(id: string, seenAt: number): Promise<void>;
  /** Answers what it removed. */
  removeSession(id: string): Promise<SessionRow | undefined>;
  /**
   * Removes the sessions that are over or were last seen before `idleBefore`, and the states nobody can use any more.
   * Answers how many sessions these were.
   */
  removeExpiredSessions(now: number, idleBefore: number): Promise<number>;
  /** True when the sign-in of this state has not been used before. */
  consumeLoginState(id: string, endsAt: number): Promise<boolean>;
}

export const sessionStore = (db: Kysely<Database>): SessionStore => ({
  byId: id => db.selectFrom('sessions').where('id', '=', id).selectAll().executeTakeFirst(),
});

/** Answers the ids of those that had to go. */
export async function addSession(
  db: Kysely<Database>,
  session: SessionRow,
  most: number,
): Promise<readonly string[]> {
  await db.insertInto('sessions').values(session).execute();
  const older = await db
    .selectFrom('sessions')
    .where('user_id', '=', session.user_id)
    .where('id', '<>', session.id)
    .orderBy('created_at', 'desc')
    .orderBy('id')
    .select('id')
    .limit(most + 1)
    .execute();
  const surplus = older.slice(most - 1).map(({ id }) => id);
  if (surplus.length > 0) await db.deleteFrom('sessions').where('id', 'in', surplus).execute();
  return surplus;
}

export async function touchSession(db: Kysely<Database>, id: string, seenAt: number): Promise<void> {
  await db.updateTable('sessions').set({ seen_at: seenAt }).where('id', '=', id).execute();
}

export const removeSession = (db: Kysely<Database>, id: string): Promise<SessionRow | undefined> =>
  db.deleteFrom('sessions').where('id', '=', id).returningAll().executeTakeFirst();

export async function removeExpiredSessions(
  db: Kysely<Database>,
  now: number,
  idleBefore: number,
): Promise<number> {
  const removed = await db
    .deleteFrom('sessions')
    .where(where => where.or([where('ends_at', '<=', now), where('seen_at', '<=', idleBefore)]))
    .executeTakeFirst();
  await db.deleteFrom('used_states').where('ends_at', '<=', now).execute();
  return Number(removed.numDeletedRows);
}

export async function consumeLoginState(db: Kysely<Database>, id: string, endsAt: number): Promise<boolean> {
  const added = await db
    .insertInto('used_states')
    .values({ id, ends_at: endsAt })
    .onConflict(conflict => conflict.column('id').doNothing())
    .executeTakeFirst();
  return (added.numInsertedOrUpdatedRows ?? 0n) > 0n;
}
