import { AppError } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import type { Storage, UserRow, UserStore } from '../storage/storage.ts';
import type { Audit } from './audit.ts';
import type { LoginAttempt, LoginLimits } from './login-limits.ts';
import type { LoginLog } from './login-log.ts';
import { isPasswordLength, type Passwords } from './passwords.ts';
import type { Tokens } from './tokens.ts';
import { hashOf, parseUsername } from './users.ts';

export interface LoginRequest {
  readonly username: string;
  readonly password: string;
  /** Where the caller is, as the server sees it. */
  readonly address: string;
  readonly requestId?: string;
}

interface LoginAnswer {
  /** Begins with `Bearer `, as the clients of this API expect. */
  readonly token: string;
  readonly forcePasswordChange: boolean;
}

/**
 * Answers whose name and password these are. Throws `unauthenticated` with one text for whatever is wrong, after the
 * same work, so that it does not tell which users exist; `rate-limited` and `unavailable` with the seconds to wait;
 * `invalid-request` for a name that cannot be one.
 */
export type CheckPassword = (request: LoginRequest) => Promise<UserRow>;

/** Answers a token. Throws as `CheckPassword` does. */
export type Login = (request: LoginRequest) => Promise<LoginAnswer>;

interface Dependencies {
  readonly users: Pick<UserStore, 'byName'>;
  readonly transaction: Storage['transaction'];
  readonly passwords: Passwords;
  readonly limits: LoginLimits;
  readonly log: LoginLog;
  readonly audit: Pick<Audit, 'record' | 'refused'>;
  readonly logger: Logger;
}

interface Place {
  readonly address: string;
  readonly requestId: { readonly requestId?: string };
}

export function createLogin(options: {
  readonly check: CheckPassword;
  readonly tokens: Pick<Tokens, 'issue'>;
  /** Seconds, asked at each login. */
  readonly tokenTtl: () => number;
}): Login {
  return async request => {
    const user = await options.check(request);
    const token = await options.tokens.issue(user.id, options.tokenTtl(), user.version);
    return { token: `Bearer ${token}`, forcePasswordChange: user.force_password_change === 1 };
  };
}

export function createPasswordCheck(dependencies: Dependencies): CheckPassword {
  const { users, transaction, passwords, limits, log, audit, logger } = dependencies;

  /** `user` is given only when there is one: an unknown name may be a password typed into the wrong field. */
  function refuse(kind: 'failed' | 'limited', { address, requestId }: Place, user = ''): void {
    log.refused(kind, address, user === '' ? undefined : user);
    audit.refused({ actor: user, action: 'auth.login', reason: kind, address, ...requestId });
  }

  async function reserve(username: string, place: Place): Promise<LoginAttempt> {
    try {
      return await limits.reserve(place.address, username);
    } catch (error) {
      if (error instanceof AppError && error.code === 'rate-limited') refuse('limited', place);
      throw error;
    }
  }

  /** What is too long to be anyone's password is refused like any wrong one, at the cost of one; so is an empty one. */
  async function compare(username: string, password: string) {
    const user = await users.byName(username);
    const presented = isPasswordLength(password) ? password : '';
    const isRight = await passwords.verify(presented, user && hashOf(user));
    return { user, isRight: isRight && presented !== '' && user?.disabled !== 1 };
  }

  /** The same password at today's cost; nobody's tokens end by that. */
  async function strengthen({ id, password: former }: UserRow, password: string): Promise<void> {
    const hash = await passwords.hash(password);
    await transaction(async tx => {
      await tx.numberUserChange();
      const user = await tx.userById(id);
      if (user?.password === former) await tx.updateUser({ ...user, password: hash });
    });
  }

  return async ({ username, password, address, requestId }) => {
    const place = { address, requestId: requestId === undefined ? {} : { requestId } };
    const name = parseUsername(username);
    const attempt = await reserve(name, place);
    const { user, isRight } = await compare(name, password).catch((error: unknown) => {
      attempt.abandoned();
      throw error;
    });
    if (user === undefined || !isRight) {
      await attempt.failed();
      refuse('failed', place, user?.username);
      throw new AppError('unauthenticated', 'The user name or the password is wrong');
    }
    attempt.succeeded();
    if (passwords.isOutdated(user.password)) await strengthen(user, password);
    logger.info({ user: user.username, address }, 'login succeeded');
    const entry = { actor: user.username, action: 'auth.login', target: user.id, address };
    await audit.record({ ...entry, ...place.requestId });
    return user;
  };
}
