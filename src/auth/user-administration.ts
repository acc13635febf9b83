import type { Clock } from '../lib/clock.ts';
import { notFound } from '../lib/errors.ts';
import type { Ids } from '../lib/ids.ts';
import type { Page, PageRequest, Storage, UserRow } from '../storage/storage.ts';
import type { ChangeFeed } from './change-feed.ts';
import type { LoginLimits } from './login-limits.ts';
import { assertGoodPassword } from './password-rules.ts';
import { isPasswordLength, type Passwords } from './passwords.ts';
import type { Actor } from './permissions.ts';
import type { Tokens } from './tokens.ts';
import {
  addNewUser,
  assertHasPassword,
  changeUser,
  dropUser,
  findUser,
  type NewPassword,
  type NewUser,
  type UserChange,
  userIn,
} from './user-changes.ts';
import { factsOf, invalidField, parseUsername, type UserFacts } from './users.ts';

/** What somebody changes of themself. */
interface OwnChange {
  readonly first?: string | undefined;
  readonly last?: string | undefined;
  readonly password?: string | undefined;
  /** Needed with `password`. */
  readonly currentPassword?: string | undefined;
}

/** `token` is a fresh one, after a change of password, which ends all others; it begins with the word Bearer. */
export interface OwnProfile {
  readonly user: UserFacts;
  readonly token?: string | undefined;
}

/**
 * Local users. Users are named by id or by user name. What ends tokens is answered once no process takes them any more.
 * All throw `not-found` for a user who is not there.
 */
export interface Users {
  list(page: PageRequest): Promise<Page<UserFacts>>;
  get(reference: string): Promise<UserFacts>;
  /** Throws `invalid-request` for a name or password that is not allowed, `conflict` when the name is taken. */
  create(user: NewUser): Promise<UserFacts>;
  /** Throws as `create`, and `conflict` when no admin could log in afterwards. */
  update(
    reference: string,
    change: UserChange & { readonly password?: string | undefined },
  ): Promise<UserFacts>;
  /** Answers what it removed. Throws `conflict` when no admin could log in afterwards. */
  remove(reference: string): Promise<UserFacts>;
  /** Throws `invalid-request` for a wrong current password, `rate-limited` after too many of them. */
  updateOwn(actor: Actor, change: OwnChange, address: string): Promise<OwnProfile>;
  /** Throws as `updateOwn` unless it is the password of the user who calls. */
  proveOwn(actor: Actor, currentPassword: string | undefined, address: string): Promise<void>;
  /** Ends every token of the user. */
  endTokens(reference: string): Promise<UserFacts>;
  /** Ends the token that the actor has shown, and the browser's session that it belongs to. */
  logout(actor: Actor): Promise<void>;
}

interface Dependencies {
  readonly storage: Pick<Storage, 'users' | 'transaction'>;
  readonly passwords: Passwords;
  readonly tokens: Pick<Tokens, 'issue'>;
  readonly limits: LoginLimits;
  readonly feed: Pick<ChangeFeed, 'takenOver'>;
  readonly clock: Clock;
  readonly ids: Ids;
  /** Seconds, asked each time. */
  readonly tokenTtl: () => number;
}

export function createUsers(dependencies: Dependencies): Users {
  const { storage, passwords, tokens, limits, feed, clock, ids, tokenTtl } = dependencies;
  const readers = { userById: storage.users.byId, userByName: storage.users.byName };

  async function found(reference: string): Promise<UserRow> {
    const user = await findUser(readers, reference);
    if (user === undefined) throw notFound('user', reference);
    return user;
  }

  /** Answers when the change counts everywhere, if it ends tokens. */
  async function changed(before: UserRow, after: UserRow): Promise<UserFacts> {
    if (after.version !== before.version) await feed.takenOver();
    return factsOf(after);
  }

  async function chosen(password: string, user: UserRow): Promise<NewPassword> {
    assertHasPassword(user);
    assertGoodPassword(password, user.username);
    return { hash: await passwords.hash(password), isInitial: true };
  }

  /** Guesses count like failed logins: a stolen token must not be enough to find the password. */
  async function prove(user: UserRow, password: string | undefined, address: string): Promise<void> {
    assertHasPassword(user);
    if (password === undefined) throw invalidField('currentPassword', 'is needed to change the password');
    if (!isPasswordLength(password)) throw invalidField('currentPassword', 'is wrong');
    const attempt = await limits.reserve(address, user.username);
    const isRight = await passwords.verify(password, user.password).catch((error: unknown) => {
      attempt.abandoned();
      throw error;
    });
    if (!isRight) {
      await attempt.failed();
      throw invalidField('currentPassword', 'is wrong');
    }
    attempt.succeeded();
  }

  async function assertNew(password: string, user: UserRow): Promise<void> {
    const former = [...new Set([user.password, user.initial_password])];
    for (const hash of former)
      if (hash !== null && (await passwords.verify(password, hash)))
        throw invalidField('password', 'must be another one than now, and than the one an admin chose');
  }

  async function changeOwnPassword(user: UserRow, change: OwnChange, password: string): Promise<UserRow> {
    assertGoodPassword(password, user.username);
    await assertNew(password, user);
    const hash = await passwords.hash(password);
    const { after } = await storage.transaction(tx =>
      changeUser(tx, user.id, {
        first: change.first,
        last: change.last,
        mustChangePassword: false,
        now: clock.now(),
        password: { hash, isInitial: false },
        isStill: now => now.password === user.password,
      }),
    );
    return after;
  }

  return {
    async list(page) {
      const { rows, total } = await storage.users.list(page);
      return { rows: rows.map(factsOf), total };
    },
    get: async reference => factsOf(await found(reference)),

    async create(user) {
      const username = parseUsername(user.username);
      if (username === '') throw invalidField('username', 'must not be empty');
      assertGoodPassword(user.password, username);
      const hash = await passwords.hash(user.password);
      const row = await storage.transaction(tx =>
        addNewUser(tx, { clock, ids }, { ...user, username, hash }),
      );
      return factsOf(row);
    },

    async update(reference, { password: text, ...change }) {
      const seen = await found(reference);
      const password = text === undefined ? undefined : await chosen(text, seen);
      const { before, after } = await storage.transaction(tx =>
        changeUser(tx, seen.id, { ...change, now: clock.now(), password }),
      );
      return changed(before, after);
    },

    async remove(reference) {
      const removed = await storage.transaction(tx => dropUser(tx, reference));
      await feed.takenOver();
      return factsOf(removed);
    },

    async updateOwn(actor, change, address) {
      const user = await found(actor.id);
      const { password } = change;
      if (password === undefined) {
        const { first, last } = change;
        const { after } = await storage.transaction(tx =>
          changeUser(tx, user.id, { first, last, now: clock.now() }),
        );
        return { user: factsOf(after) };
      }
      await prove(user, change.currentPassword, address);
      const row = await changeOwnPassword(user, change, password);
      const facts = await changed(user, row);
      return { user: facts, token: `Bearer ${await tokens.issue(row.id, tokenTtl(), row.version)}` };
    },

    proveOwn: async (actor, currentPassword, address) =>
      prove(await found(actor.id), currentPassword, address),

    async endTokens(reference) {
      const row = await storage.transaction(async tx => {
        const version = await tx.numberUserChange();
        const user = { ...(await userIn(tx, reference)), version };
        await tx.updateUser(user);
        return user;
      });
      await feed.takenOver();
      return factsOf(row);
    },

    async logout({ token }) {
      if (token === undefined) return;
      await storage.transaction(async tx => {
        await tx.numberUserChange();
        await tx.revokeToken({ id: token.id, expires_at: token.expiresAt }, clock.now());
        if (token.session !== undefined) await tx.removeSession(token.session);
      });
      await feed.takenOver();
    },
  };
}
