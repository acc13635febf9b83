import { type Kysely, sql } from 'kysely';
import { countRows, refuseDuplicate } from '../queries.ts';
import type { Database, RevokedTokenTable, UserTable } from '../tables.ts';
import type { Page, PageRequest } from '../types.ts';

export type UserRow = UserTable;

export interface UserStore {
  count(): Promise<number>;
  /** The account of that name in the organization, or by default the user of the installation itself. */
  readonly byName: (username: string, organization?: string) => Promise<UserTable | undefined>;
  /** The accounts of that name in organizations by age, all of them or the oldest ones. */
  readonly accountsNamed: (username: string, most?: number) => Promise<readonly UserTable[]>;
  readonly byId: (id: string) => Promise<UserTable | undefined>;
  /** The user of the installation itself that the issuer knows by that name. */
  readonly byIdentity: (issuer: string, subject: string) => Promise<UserTable | undefined>;
  /** The accounts in organizations of the person whom the issuer knows by that name, by age. */
  readonly accountsOf: (issuer: string, subject: string) => Promise<readonly UserTable[]>;
  /** By name. */
  list(page: PageRequest): Promise<Page<UserTable>>;
  /** True when a token was revoked before its end. */
  isRevoked(tokenId: string): Promise<boolean>;
  /**
   * How many changes there have been of users, members, organizations and credentials: another number says that something
   * is not as it was.
   */
  changes(): Promise<number>;
}

/** Name of the instance value that counts the changes of users. */
const USER_CHANGES = 'user_changes';

export function userStore(db: Kysely<Database>): UserStore {
  const users = () => db.selectFrom('users');
  const accounts = () =>
    users().where('organization', '!=', '').selectAll().orderBy('created_at').orderBy('id');
  return {
    count: () => countRows(users()),
    byName: (username, organization = '') =>
      users()
        .where('username', '=', username)
        .where('organization', '=', organization)
        .selectAll()
        .executeTakeFirst(),
    accountsNamed(username, most) {
      const named = accounts().where('username', '=', username);
      return (most === undefined ? named : named.limit(most)).execute();
    },
    byIdentity: (issuer, subject) =>
      users()
        .where('issuer', '=', issuer)
        .where('subject', '=', subject)
        .where('organization', '=', '')
        .selectAll()
        .executeTakeFirst(),
    accountsOf: (issuer, subject) =>
      accounts().where('issuer', '=', issuer).where('subject', '=', subject).execute(),
    byId: id => users().where('id', '=', id).selectAll().executeTakeFirst(),
    async list({ offset, limit }) {
      const [rows, total] = await Promise.all([
        users().selectAll().orderBy('username').offset(offset).limit(limit).execute(),
        countRows(users()),
      ]);
      return { rows, total };
    },
    async isRevoked(tokenId) {
      const row = await db
        .selectFrom('revoked_tokens')
        .where('id', '=', tokenId)
        .select('id')
        .executeTakeFirst();
      return row !== undefined;
    },
    async changes() {
      const row = await db
        .selectFrom('instance')
        .where('name', '=', USER_CHANGES)
        .select('value')
        .executeTakeFirst();
      return Number(row?.value ?? 0);
    },
  };
}

/** One row that everybody who changes users has to write first: on PostgreSQL they wait for each other there. */
export async function incrementUserChanges(db: Kysely<Database>): Promise<number> {
  const { value } = await db
    .insertInto('instance')
    .values({ name: USER_CHANGES, value: '1' })
    .onConflict(conflict =>
      conflict
        .column('name')
        .doUpdateSet({ value: sql<string>`cast(cast(instance.value as bigint) + 1 as text)` }),
    )
    .returning('value')
    .executeTakeFirstOrThrow();
  return Number(value);
}

/** Refused with `conflict` when the id, or the name in the organization, is taken. */
export async function addUser(db: Kysely<Database>, user: UserTable): Promise<void> {
  await refuseDuplicate(
    db.insertInto('users').values(user).execute(),
    `user '${user.username}'`,
    'choose another name',
  );
}

export async function updateUser(db: Kysely<Database>, { id, ...columns }: UserTable): Promise<void> {
  await db.updateTable('users').set(columns).where('id', '=', id).execute();
}

export async function removeUser(db: Kysely<Database>, id: string): Promise<void> {
  await db.deleteFrom('users').where('id', '=', id).execute();
}

export const countEnabledAdmins = (db: Kysely<Database>): Promise<number> =>
  countRows(db.selectFrom('users').where('role', '=', 'admin').where('disabled', '=', 0));

/** Those that are over anyway go at the same time. */
export async function revokeToken(
  db: Kysely<Database>,
  token: RevokedTokenTable,
  now: number,
): Promise<void> {
  await db.deleteFrom('revoked_tokens').where('expires_at', '<=', now).execute();
  await db
    .insertInto('revoked_tokens')
    .values(token)
    .onConflict(conflict => conflict.column('id').doNothing())
    .execute();
}
