import { AppError } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import type { UserStore } from '../storage/storage.ts';
import type { LoginAttempt, LoginLimits } from './login-limits.ts';
import type { LoginLog } from './login-log.ts';
import { isPasswordLength, type Passwords } from './passwords.ts';
import type { Tokens } from './tokens.ts';
import { parseUsername } from './users.ts';

interface LoginRequest {
  readonly username: string;
  readonly password: string;
  /** Where the caller is, as the server sees it. */
  readonly address: string;
}

interface LoginAnswer {
  /** Begins with `Bearer `, as the clients of this API expect. */
  readonly token: string;
  readonly forcePasswordChange: boolean;
}

/**
 * Throws `unauthenticated` with one text for whatever is wrong, after the same work, so that it does not tell which
 * users exist; `rate-limited` and `unavailable` with the seconds to wait; `invalid-request` for a name that cannot be one.
 */
export type Login = (request: LoginRequest) => Promise<LoginAnswer>;

interface Dependencies {
  readonly users: Pick<UserStore, 'byName'>;
  readonly passwords: Passwords;
  readonly tokens: Tokens;
  readonly limits: LoginLimits;
  readonly log: LoginLog;
  readonly logger: Logger;
  /** Seconds, asked at each login. */
  readonly tokenTtl: () => number;
}

export function createLogin(dependencies: Dependencies): Login {
  const { users, passwords, tokens, limits, log, logger, tokenTtl } = dependencies;

  async function reserve(username: string, address: string): Promise<LoginAttempt> {
    try {
      return await limits.reserve(address, username);
    } catch (error) {
      if (error instanceof AppError && error.code === 'rate-limited') log.refused('limited', address);
      throw error;
    }
  }

  /** What is too long to be anyone's password is refused like any wrong one, at the cost of one; so is an empty one. */
  async function compare(username: string, password: string) {
    const user = await users.byName(username);
    const presented = isPasswordLength(password) ? password : '';
    const isRight = await passwords.verify(presented, user?.password);
    return { user, isRight: isRight && presented !== '' };
  }

  return async ({ username, password, address }) => {
    const name = parseUsername(username);
    const attempt = await reserve(name, address);
    const { user, isRight } = await compare(name, password).catch((error: unknown) => {
      attempt.abandoned();
      throw error;
    });
    if (user === undefined || !isRight) {
      await attempt.failed();
      log.refused('failed', address, user?.username);
      throw new AppError('unauthenticated', 'The user name or the password is wrong');
    }
    attempt.succeeded();
    const token = await tokens.issue(user.id, tokenTtl());
    logger.info({ user: user.username, address }, 'login succeeded');
    return { token: `Bearer ${token}`, forcePasswordChange: user.force_password_change === 1 };
  };
}
