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
  accountName,
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

/** The part of a user that the user may change. */
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
 * Local users, referred to by id or by user name. A change that ends tokens is answered once no process accepts them
 * any more. All throw `not-found` for an unknown user.
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
  /** Returns the removed user. Throws `conflict` when no admin could log in afterwards. */
  remove(reference: string): Promise<UserDetails>;
  /** Throws `invalid-request` for a wrong current password, `rate-limited` after too many of them. */
  updateProfile(actor: Actor, change: ProfileChange, address: string): Promise<UpdatedProfile>;
  /** Throws as `updateProfile` unless it is the actor's password. */
  verifyCurrentPassword(actor: Actor, currentPassword: string | undefined, address: string): Promise<void>;
  /** Ends every token of the user. */
  endTokens(reference: string): Promise<UserDetails>;
  /** Ends the token that the actor presented, and the browser's session that it belongs to. */
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
  /** Seconds, read each time. */
  readonly tokenTtl: () => number;
}

export const createUsers = (dependencies: Dependencies): Users => new UserService(dependencies);

class UserService implements Users {
  readonly #storage: Dependencies['storage'];
  readonly #passwords: Passwords;
  readonly #tokens: Dependencies['tokens'];
  readonly #limits: LoginLimits;
  readonly #feed: Dependencies['feed'];
  readonly #clock: Clock;
  readonly #ids: Ids;
  readonly #tokenTtl: () => number;

  constructor(dependencies: Dependencies) {
    this.#storage = dependencies.storage;
    this.#passwords = dependencies.passwords;
    this.#tokens = dependencies.tokens;
    this.#limits = dependencies.limits;
    this.#feed = dependencies.feed;
    this.#clock = dependencies.clock;
    this.#ids = dependencies.ids;
    this.#tokenTtl = dependencies.tokenTtl;
  }

  async list(page: PageRequest): Promise<Page<UserDetails>> {
    const { rows, total } = await this.#storage.users.list(page);
    return { rows: rows.map(userDetails), total };
  }

  async get(reference: string): Promise<UserDetails> {
    return userDetails(await readUser(this.#storage, reference));
  }

  async create(user: NewUser): Promise<UserDetails> {
    const username = parseUsername(user.username);
    if (username === '') throw invalidField('username', 'must not be empty');
    assertGoodPassword(user.password, username);
    const hash = await this.#passwords.hash(user.password);
    const [clock, ids] = [this.#clock, this.#ids];
    const row = await this.#storage.transaction(tx =>
      addNewUser(tx, { clock, ids }, { ...user, username, hash }),
    );
    return userDetails(row);
  }

  async update(
    reference: string,
    { password: text, ...change }: Parameters<Users['update']>[1],
  ): Promise<UserDetails> {
    const seen = await readUser(this.#storage, reference);
    const password = text === undefined ? undefined : await this.#hashChosenPassword(text, seen);
    const { before, after } = await this.#storage.transaction(tx =>
      changeUser(tx, seen.id, { ...change, now: this.#clock.now(), password }),
    );
    return this.#detailsOncePropagated(before, after);
  }

  async remove(reference: string): Promise<UserDetails> {
    const removed = await this.#storage.transaction(tx => removeUser(tx, reference));
    await this.#feed.waitForPropagation();
    return userDetails(removed);
  }

  async updateProfile(actor: Actor, change: ProfileChange, address: string): Promise<UpdatedProfile> {
    const user = await readUser(this.#storage, actor.id);
    const { first, last, password } = change;
    if (password === undefined) {
      const { after } = await this.#storage.transaction(tx =>
        changeUser(tx, user.id, { first, last, now: this.#clock.now() }),
      );
      return { user: userDetails(after) };
    }
    await this.#assertCurrentPassword(user, change.currentPassword, address);
    const row = await this.#changeOwnPassword(user, change, password);
    const details = await this.#detailsOncePropagated(user, row);
    const token = await this.#tokens.issue(row.id, this.#tokenTtl(), row.version);
    return { user: details, token: `Bearer ${token}` };
  }

  async verifyCurrentPassword(
    actor: Actor,
    currentPassword: string | undefined,
    address: string,
  ): Promise<void> {
    await this.#assertCurrentPassword(await readUser(this.#storage, actor.id), currentPassword, address);
  }

  async endTokens(reference: string): Promise<UserDetails> {
    const row = await this.#storage.transaction(async tx => {
      const version = await tx.incrementUserChanges();
      const user = { ...(await requireUser(tx, reference)), version };
      await tx.updateUser(user);
      return user;
    });
    await this.#feed.waitForPropagation();
    return userDetails(row);
  }

  async logout({ token }: Actor): Promise<void> {
    if (token === undefined) return;
    await this.#storage.transaction(async tx => {
      await tx.incrementUserChanges();
      await tx.revokeToken({ id: token.id, expires_at: token.expiresAt }, this.#clock.now());
      if (token.session !== undefined) await tx.removeSession(token.session);
    });
    await this.#feed.waitForPropagation();
  }

  /** Resolves when a change that ends tokens is known to every process. */
  async #detailsOncePropagated(before: UserRow, after: UserRow): Promise<UserDetails> {
    if (after.version !== before.version) await this.#feed.waitForPropagation();
    return userDetails(after);
  }

  async #hashChosenPassword(password: string, user: UserRow): Promise<NewPassword> {
    assertHasPassword(user);
    assertGoodPassword(password, user.username);
    return { hash: await this.#passwords.hash(password), isInitial: true };
  }

  /** Guesses count like failed logins: a stolen token must not be enough to find the password. */
  async #assertCurrentPassword(user: UserRow, password: string | undefined, address: string): Promise<void> {
    assertHasPassword(user);
    if (password === undefined) throw invalidField('currentPassword', 'is needed to change the password');
    if (!isPasswordLength(password)) throw invalidField('currentPassword', 'is wrong');
    const attempt = await this.#limits.reserve(address, accountName(user));
    const isCorrect = await this.#passwords.verify(password, user.password).catch((error: unknown) => {
      attempt.abandoned();
      throw error;
    });
    if (!isCorrect) {
      await attempt.failed();
      throw invalidField('currentPassword', 'is wrong');
    }
    attempt.succeeded();
  }

  async #changeOwnPassword(user: UserRow, change: ProfileChange, password: string): Promise<UserRow> {
    assertGoodPassword(password, user.username);
    await this.#assertPasswordIsNew(password, user);
    const hash = await this.#passwords.hash(password);
    const { after } = await this.#storage.transaction(tx =>
      changeUser(tx, user.id, {
        first: change.first,
        last: change.last,
        mustChangePassword: false,
        now: this.#clock.now(),
        password: { hash, isInitial: false },
        isUnchanged: now => now.password === user.password,
      }),
    );
    return after;
  }

  async #assertPasswordIsNew(password: string, user: UserRow): Promise<void> {
    const former = [...new Set([user.password, user.initial_password])];
    for (const hash of former)
      if (hash !== null && (await this.#passwords.verify(password, hash)))
        throw invalidField('password', 'must be another one than now, and than the one an admin chose');
  }
}

/** Throws `not-found`. */
async function readUser({ users }: Pick<Storage, 'users'>, reference: string): Promise<UserRow> {
  const { byId: userById, byName: userByName, accountsNamed } = users;
  const user = await findUser({ userById, userByName, accountsNamed }, reference);
  if (user === undefined) throw notFound('user', reference);
  return user;
}

interface ResetPasswordDependencies {
  readonly storage: Pick<Storage, 'users' | 'transaction'>;
  readonly audit: Pick<Audit, 'record'>;
  readonly clock: Pick<Clock, 'now'>;
  /** Recorded in the audit. */
  readonly actor: string;
}

/**
 * Gives a user another password, to be changed at the next login. It authorises nobody: an operator with access to the
 * store calls it. Throws `not-found`, `conflict` for a user without a password here, `invalid-request` for a password
 * that is not allowed.
 */
export async function resetPassword(
  { storage, audit, clock, actor }: ResetPasswordDependencies,
  reference: string,
  password: string,
): Promise<UserDetails> {
  const user = await readUser(storage, reference);
  assertHasPassword(user);
  assertGoodPassword(password, user.username);
  const hash = await createPasswords().hash(password);
  const { after } = await storage.transaction(tx =>
    changeUser(tx, user.id, { now: clock.now(), password: { hash, isInitial: true } }),
  );
  await audit.record({ actor, action: 'users.resetPassword', target: user.id, address: 'local' });
  return userDetails(after);
}
