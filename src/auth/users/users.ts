import type { Clock } from '../../lib/clock.ts';
import { notFound } from '../../lib/errors.ts';
import type { Ids } from '../../lib/ids.ts';
import type { Storage } from '../../storage/storage.ts';
import type { UserRow } from '../../storage/stores/users.ts';
import type { Page, PageRequest } from '../../storage/types.ts';
import type { Actor } from '../actor.ts';
import type { Audit } from '../audit.ts';
import type { ChangeFeed } from '../change-feed.ts';
import type { LoginLimits } from '../limits/login-limits.ts';
import type { SessionTokens } from '../tokens/session-tokens.ts';
import { assertGoodPassword } from './password-rules.ts';
import { createPasswords, isPasswordLength, type Passwords } from './passwords.ts';
import {
  addNewUser,
  assertHasPassword,
  changeUser,
  findUser,
  invalidField,
  type NewPassword,
  type NewUser,
  parseUsername,
  removeUser,
  requireUser,
  type UserChange,
  type UserDetails,
  userDetails,
} from './user.ts';

/** What somebody changes of themself. */
interface ProfileChange {
  readonly first?: string | undefined;
  readonly last?: string | undefined;
  readonly password?: string | undefined;
  /** Needed with `password`. */
  readonly currentPassword?: string | undefined;
}

/** `token` is a fresh one, after a change of password, which ends all others; it begins with the word Bearer. */
export interface UpdatedProfile {
  readonly user: UserDetails;
  readonly token?: string | undefined;
}

/**
 * Local users. Users are named by id or by user name. What ends tokens is answered once no process takes them any more.
 * All throw `not-found` for a user who is not there.
 */
export interface Users {
  list(page: PageRequest): Promise<Page<UserDetails>>;
  get(reference: string): Promise<UserDetails>;
  /** Throws `invalid-request` for a name or password that is not allowed, `conflict` when the name is taken. */
  create(user: NewUser): Promise<UserDetails>;
  /** Throws as `create`, and `conflict` when no admin could log in afterwards. */
  update(
    reference: string,
    change: UserChange & { readonly password?: string | undefined },
  ): Promise<UserDetails>;
  /** Answers what it removed. Throws `conflict` when no admin could log in afterwards. */
  remove(reference: string): Promise<UserDetails>;
  /** Throws `invalid-request` for a wrong current password, `rate-limited` after too many of them. */
  updateProfile(actor: Actor, change: ProfileChange, address: string): Promise<UpdatedProfile>;
  /** Throws as `updateOwn` unless it is the password of the user who calls. */
  verifyCurrentPassword(actor: Actor, currentPassword: string | undefined, address: string): Promise<void>;
  /** Ends every token of the user. */
  endTokens(reference: string): Promise<UserDetails>;
  /** Ends the token that the actor has shown, and the browser's session that it belongs to. */
  logout(actor: Actor): Promise<void>;
}

interface Dependencies {
  readonly storage: Pick<Storage, 'users' | 'transaction'>;
  readonly passwords: Passwords;
  readonly tokens: Pick<SessionTokens, 'issue'>;
  readonly limits: LoginLimits;
  readonly feed: Pick<ChangeFeed, 'waitForPropagation'>;
  readonly clock: Clock;
  readonly ids: Ids;
  /** Seconds, asked each time. */
  readonly tokenTtl: () => number;
}

export function createUsers(dependencies: Dependencies): Users {
  const { storage, passwords, tokens, limits, feed, clock, ids, tokenTtl } = dependencies;
  const readers = { userById: storage.users.byId, userByName: storage.users.byName };

  async function readUser(reference: string): Promise<UserRow> {
    const user = await findUser(readers, reference);
    if (user === undefined) throw notFound('user', reference);
    return user;
  }

  /** Answers when the change counts everywhere, if it ends tokens. */
  async function detailsOncePropagated(before: UserRow, after: UserRow): Promise<UserDetails> {
    if (after.version !== before.version) await feed.waitForPropagation();
    return userDetails(after);
  }

  async function hashChosenPassword(password: string, user: UserRow): Promise<NewPassword> {
    assertHasPassword(user);
    assertGoodPassword(password, user.username);
    return { hash: await passwords.hash(password), isInitial: true };
  }

  /** Guesses count like failed logins: a stolen token must not be enough to find the password. */
  async function assertCurrentPassword(
    user: UserRow,
    password: string | undefined,
    address: string,
  ): Promise<void> {
    assertHasPassword(user);
    if (password === undefined) throw invalidField('currentPassword', 'is needed to change the password');
    if (!isPasswordLength(password)) throw invalidField('currentPassword', 'is wrong');
    const attempt = await limits.reserve(address, user.username);
    const isCorrect = await passwords.verify(password, user.password).catch((error: unknown) => {
      attempt.abandoned();
      throw error;
    });
    if (!isCorrect) {
      await attempt.failed();
      throw invalidField('currentPassword', 'is wrong');
    }
    attempt.succeeded();
  }

  async function assertPasswordIsNew(password: string, user: UserRow): Promise<void> {
    const former = [...new Set([user.password, user.initial_password])];
    for (const hash of former)
      if (hash !== null && (await passwords.verify(password, hash)))
        throw invalidField('password', 'must be another one than now, and than the one an admin chose');
  }

  async function changeOwnPassword(user: UserRow, change: ProfileChange, password: string): Promise<UserRow> {
    assertGoodPassword(password, user.username);
    await assertPasswordIsNew(password, user);
    const hash = await passwords.hash(password);
    const { after } = await storage.transaction(tx =>
      changeUser(tx, user.id, {
        first: change.first,
        last: change.last,
        mustChangePassword: false,
        now: clock.now(),
        password: { hash, isInitial: false },
        isUnchanged: now => now.password === user.password,
      }),
    );
    return after;
  }

  return {
    async list(page) {
      const { rows, total } = await storage.users.list(page);
      return { rows: rows.map(userDetails), total };
    },
    get: async reference => userDetails(await readUser(reference)),

    async create(user) {
      const username = parseUsername(user.username);
      if (username === '') throw invalidField('username', 'must not be empty');
      assertGoodPassword(user.password, username);
      const hash = await passwords.hash(user.password);
      const row = await storage.transaction(tx =>
        addNewUser(tx, { clock, ids }, { ...user, username, hash }),
      );
      return userDetails(row);
    },

    async update(reference, { password: text, ...change }) {
      const seen = await readUser(reference);
      const password = text === undefined ? undefined : await hashChosenPassword(text, seen);
      const { before, after } = await storage.transaction(tx =>
        changeUser(tx, seen.id, { ...change, now: clock.now(), password }),
      );
      return detailsOncePropagated(before, after);
    },

    async remove(reference) {
      const removed = await storage.transaction(tx => removeUser(tx, reference));
      await feed.waitForPropagation();
      return userDetails(removed);
    },

    async updateProfile(actor, change, address) {
      const user = await readUser(actor.id);
      const { password } = change;
      if (password === undefined) {
        const { first, last } = change;
        const { after } = await storage.transaction(tx =>
          changeUser(tx, user.id, { first, last, now: clock.now() }),
        );
        return { user: userDetails(after) };
      }
      await assertCurrentPassword(user, change.currentPassword, address);
      const row = await changeOwnPassword(user, change, password);
      const details = await detailsOncePropagated(user, row);
      return { user: details, token: `Bearer ${await tokens.issue(row.id, tokenTtl(), row.version)}` };
    },

    verifyCurrentPassword: async (actor, currentPassword, address) =>
      assertCurrentPassword(await readUser(actor.id), currentPassword, address),

    async endTokens(reference) {
      const row = await storage.transaction(async tx => {
        const version = await tx.incrementUserChanges();
        const user = { ...(await requireUser(tx, reference)), version };
        await tx.updateUser(user);
        return user;
      });
      await feed.waitForPropagation();
      return userDetails(row);
    },

    async logout({ token }) {
      if (token === undefined) return;
      await storage.transaction(async tx => {
        await tx.incrementUserChanges();
        await tx.revokeToken({ id: token.id, expires_at: token.expiresAt }, clock.now());
        if (token.session !== undefined) await tx.removeSession(token.session);
      });
      await feed.waitForPropagation();
    },
  };
}

interface ResetPasswordDependencies {
  readonly storage: Pick<Storage, 'users' | 'transaction'>;
  readonly audit: Pick<Audit, 'record'>;
  readonly clock: Pick<Clock, 'now'>;
  /** Whoever asks, as the audit names them. */
  readonly actor: string;
}

/**
 * Gives a user another password, to be changed at the next login, without asking who calls: for whoever may write the
 * store itself. Throws `not-found`, `conflict` for a user of no password here, `invalid-request` for one that is not
 * allowed.
 */
export async function resetPassword(
  { storage, audit, clock, actor }: ResetPasswordDependencies,
  reference: string,
  password: string,
): Promise<UserDetails> {
  const { users } = storage;
  const user = await findUser({ userById: users.byId, userByName: users.byName }, reference);
  if (user === undefined) throw notFound('user', reference);
  assertHasPassword(user);
  assertGoodPassword(password, user.username);
  const hash = await createPasswords().hash(password);
  const { after } = await storage.transaction(tx =>
    changeUser(tx, user.id, { now: clock.now(), password: { hash, isInitial: true } }),
  );
  await audit.record({ actor, action: 'users.resetPassword', target: user.id, address: 'local' });
  return userDetails(after);
}
