import { addressPrefix } from '../../lib/addresses.ts';
import type { Clock } from '../../lib/clock.ts';
import { AppError } from '../../lib/errors.ts';
import type { Logger } from '../../lib/logger.ts';
import type { Storage } from '../../storage/storage.ts';
import type { UserRow, UserStore } from '../../storage/stores/users.ts';
import type { Audit } from '../audit.ts';
import type { LoginAttempt, LoginLimits } from '../limits/login-limits.ts';
import type { SessionTokens } from '../tokens/session-tokens.ts';
import { isPasswordLength, type Passwords } from './passwords.ts';
import { accountName, parseUsername, passwordHashOf } from './user.ts';

export interface LoginRequest {
  readonly username: string;
  /** The organization whose account it is; without one, each of a few accounts of that name is tried. */
  readonly organization?: string | undefined;
  readonly password: string;
  /** Address of the caller, as the server sees it. */
  readonly address: string;
  readonly requestId?: string;
}

interface LoginAnswer {
  /** Begins with `Bearer `, as the clients of this API expect. */
  readonly token: string;
  readonly forcePasswordChange: boolean;
}

/**
 * Returns the user with this name and password. Throws `unauthenticated` with one text for every cause, after the same
 * work, so that it does not reveal which users exist; `rate-limited` and `unavailable` with the seconds to wait;
 * `invalid-request` for a malformed name.
 */
export type CheckPassword = (request: LoginRequest) => Promise<UserRow>;

/** Returns a token. Throws as `CheckPassword` does. */
export type PasswordLogin = (request: LoginRequest) => Promise<LoginAnswer>;

/** The accounts that a name may stand for. Their number, with those that are not there, depends on `tried` alone. */
interface LoginAccounts {
  /** The key by which failed logins are counted. */
  readonly name: string;
  /**
   * True when a login for one account would otherwise excuse wrong guesses of the password of another one. Then no
   * success does, whatever accounts there are.
   */
  readonly isShared: boolean;
  find(): Promise<readonly (UserRow | undefined)[]>;
}

export type AccountsFor = (
  login: Pick<LoginRequest, 'organization'> & { readonly username: string },
) => LoginAccounts;

/** Users of the installation itself. */
export const localAccounts =
  (users: Pick<UserStore, 'byName'>): AccountsFor =>
  ({ username }) => ({ name: username, isShared: false, find: async () => [await users.byName(username)] });

/**
 * As many accounts of one address are tried, always: the work must not reveal how many organizations know it. Those that
 * came later are found by naming the organization.
 */
const MOST_TRIED = 3;

/** Accounts of the members of organizations, each with a password of its own. */
export const memberAccounts =
  (users: Pick<UserStore, 'byName' | 'accountsNamed'>): AccountsFor =>
  ({ username, organization }) =>
    organization === undefined
      ? {
          name: username,
          isShared: true,
          async find() {
            const found = await users.accountsNamed(username, MOST_TRIED);
            return Array.from({ length: MOST_TRIED }, (_, index) => found[index]);
          },
        }
      : {
          name: accountName({ organization, username }),
          isShared: false,
          // Without a name it would be a user of the installation.
          find: async () => [organization === '' ? undefined : await users.byName(username, organization)],
        };

interface Dependencies {
  readonly accountsFor: AccountsFor;
  readonly transaction: Storage['transaction'];
  readonly passwords: Passwords;
  readonly limits: LoginLimits;
  readonly log: LoginLog;
  readonly audit: Pick<Audit, 'record' | 'refused'>;
  readonly logger: Logger;
}

interface LoginOrigin {
  readonly address: string;
  readonly requestId: { readonly requestId?: string };
}

export function createLogin(options: {
  readonly check: CheckPassword;
  readonly tokens: Pick<SessionTokens, 'issue'>;
  /** Seconds, read at each login. */
  readonly tokenTtl: () => number;
}): PasswordLogin {
  return async request => {
    const user = await options.check(request);
    const token = await options.tokens.issue(user.id, options.tokenTtl(), user.version);
    return { token: `Bearer ${token}`, forcePasswordChange: user.force_password_change === 1 };
  };
}

export function createPasswordCheck(dependencies: Dependencies): CheckPassword {
  const { accountsFor, transaction, passwords, limits, log, audit, logger } = dependencies;

  /** Names the user only when there is one: an unknown name may be a password typed into the wrong field. */
  function refuse(kind: 'failed' | 'limited', { address, requestId }: LoginOrigin, user = ''): void {
    log.refused(kind, address, user === '' ? undefined : user);
    audit.refused({ actor: user, action: 'auth.login', reason: kind, address, ...requestId });
  }

  async function reserve(name: string, origin: LoginOrigin): Promise<LoginAttempt> {
    try {
      return await limits.reserve(origin.address, name);
    } catch (error) {
      if (error instanceof AppError && error.code === 'rate-limited') refuse('limited', origin);
      throw error;
    }
  }

  /** A text too long to be a password is refused like any wrong one, at the same cost; so is an empty one. */
  async function compare(accounts: LoginAccounts, password: string) {
    const known = await accounts.find();
    const presented = isPasswordLength(password) ? password : '';
    const correct: UserRow[] = [];
    for (const user of known) {
      const isCorrect = await passwords.verify(presented, user && passwordHashOf(user));
      if (user !== undefined && isCorrect && presented !== '' && user.disabled !== 1) correct.push(user);
    }
    return { user: correct[0], name: known.find(user => user !== undefined)?.username };
  }

  /** Hashes the same password at the present cost; tokens stay valid. */
  async function rehash({ id, password: former }: UserRow, password: string): Promise<void> {
    const hash = await passwords.hash(password);
    await transaction(async tx => {
      await tx.incrementUserChanges();
      const user = await tx.userById(id);
      if (user?.password === former) await tx.updateUser({ ...user, password: hash });
    });
  }

  return async ({ username, organization, password, address, requestId }) => {
    const origin = { address, requestId: requestId === undefined ? {} : { requestId } };
    const accounts = accountsFor({ username: parseUsername(username), organization });
    const attempt = await reserve(accounts.name, origin);
    const { user, name } = await compare(accounts, password).catch((error: unknown) => {
      attempt.abandoned();
      throw error;
    });
    if (user === undefined) {
      await attempt.failed();
      refuse('failed', origin, name);
      throw new AppError('unauthenticated', 'The user name or the password is wrong');
    }
    if (accounts.isShared) attempt.abandoned();
    else attempt.succeeded();
    if (passwords.isOutdated(user.password)) await rehash(user, password);
    logger.info({ user: user.username, address }, 'login succeeded');
    const entry = { actor: user.username, action: 'auth.login', target: user.id, address };
    await audit.record({ ...entry, ...origin.requestId });
    return user;
  };
}

const MESSAGES = {
  failed: 'login failed',
  limited: 'login refused by the rate limit',
} as const;
type RefusalKind = keyof typeof MESSAGES;

const WINDOW_MS = 60_000;
const MOST_ADDRESSES = 1000;
const MOST_USERS = 5;
const OTHER_ADDRESSES = 'other addresses';

export interface LoginLog {
  /**
   * Logs the first of a kind from an address at once, and those that follow within the minute as one line with their
   * count. `user` is given only when such a user exists: an unknown name may be a password typed into the wrong field.
   */
  refused(kind: RefusalKind, address: string, user?: string): void;
}

interface RefusalCount {
  readonly kind: RefusalKind;
  readonly address: string;
  count: number;
  users: Set<string>;
}

export function createLoginLog({ clock, logger }: { clock: Clock; logger: Logger }): LoginLog {
  const entries = new Map<string, RefusalCount>();

  function write(entry: RefusalCount): void {
    const { kind, address, count, users } = entry;
    logger.warn({ address, count, users: [...users] }, MESSAGES[kind]);
    entry.count = 0;
    entry.users = new Set();
  }

  /** Forgets an address without refusals in a whole window; one with more is logged again after the next window. */
  function flush(): void {
    for (const [key, entry] of entries)
      if (entry.count > 0) write(entry);
      else entries.delete(key);
    if (entries.size > 0) clock.after(WINDOW_MS, flush);
  }

  function entryOf(kind: RefusalKind, address: string): { entry: RefusalCount; isNew: boolean } {
    const prefix = addressPrefix(address);
    const known = entries.get(`${kind} ${prefix}`);
    if (known !== undefined) return { entry: known, isNew: false };
    const shown = entries.size < MOST_ADDRESSES ? prefix : OTHER_ADDRESSES;
    const key = `${kind} ${shown}`;
    const rest = entries.get(key);
    if (rest !== undefined) return { entry: rest, isNew: false };
    const entry: RefusalCount = { kind, address: shown, count: 0, users: new Set() };
    if (entries.size === 0) clock.after(WINDOW_MS, flush);
    entries.set(key, entry);
    return { entry, isNew: true };
  }

  return {
    refused(kind, address, user) {
      const { entry, isNew } = entryOf(kind, address);
      entry.count += 1;
      if (user !== undefined && entry.users.size < MOST_USERS) entry.users.add(user);
      if (isNew) write(entry);
    },
  };
}
