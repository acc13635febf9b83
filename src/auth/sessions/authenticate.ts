import { AppError } from '../../lib/errors.ts';
import type { Storage } from '../../storage/storage.ts';
import type { UserRow } from '../../storage/stores/users.ts';
import type { Actor } from '../actor.ts';
import type { ChangeFeed } from '../change-feed.ts';
import { bearerToken } from '../tokens/jwt.ts';
import type { SessionTokens } from '../tokens/session-tokens.ts';
import { roleOf } from '../users/user.ts';

/**
 * Who calls, by the value of the Authorization header. The user is looked at for each call, so a change of role or a
 * removed user counts at once. Throws `unauthenticated`, and `unavailable` while the store does not answer.
 */
export type Authenticate = (
  authorization: string | undefined,
  /** Where the call comes from; some may call from certain places only. */
  address?: string,
) => Promise<Actor>;

export function createAuthenticate(options: {
  tokens: SessionTokens;
  directory: Pick<UserDirectory, 'find' | 'isRevoked' | 'hasSession'>;
}): Authenticate {
  const { tokens, directory } = options;
  return async authorization => {
    if (authorization === undefined)
      throw unauthenticated('No token was sent; log in and send "Authorization: Bearer <token>"');
    const token = bearerToken(authorization);
    if (token === undefined)
      throw unauthenticated('The Authorization header is not of the form "Bearer <token>"');
    const verified = await tokens.verify(token);
    if (verified.kind === 'refused')
      throw unauthenticated(
        verified.reason === 'expired'
          ? 'The token has expired; log in again'
          : 'The token is not valid here; log in again',
      );
    const { sub, ver, jti, exp, sid } = verified.claims;
    const user = await directory.find(sub);
    if (user === undefined || user.disabled === 1 || user.version !== ver)
      throw unauthenticated('The token is not valid here; log in again');
    if (await directory.isRevoked(jti)) throw unauthenticated('The token was given back; log in again');
    if (sid !== undefined && !(await directory.hasSession(sid)))
      throw unauthenticated('The session of the token is over; sign in again');
    return {
      kind: 'user',
      id: user.id,
      name: user.username,
      role: roleOf(user),
      token: { id: jti, expiresAt: exp * 1000, ...(sid !== undefined && { session: sid }) },
      ...(user.force_password_change === 1 && { mustChangePassword: true }),
    };
  };
}

const unauthenticated = (message: string): AppError => new AppError('unauthenticated', message);

/** Users, given-back tokens and ended sessions as every request needs them. */
export interface UserDirectory {
  /** Throws `unavailable` when the store has not said for 2 seconds whether something changed. */
  find(id: string): Promise<UserRow | undefined>;
  /** Whether the token was given back. Throws as `find` does. */
  isRevoked(tokenId: string): Promise<boolean>;
  /** Whether the browser's session is still there. Throws as `find` does. */
  hasSession(id: string): Promise<boolean>;
}

export function createUserDirectory(
  feed: Pick<ChangeFeed, 'cache'>,
  storage: Pick<Storage, 'users' | 'sessions'>,
): UserDirectory {
  const users = feed.cache({ keyedBy: 'users', read: id => storage.users.byId(id) });
  const revoked = feed.cache({ keyedBy: 'tokens', read: id => storage.users.isRevoked(id) });
  const sessions = feed.cache({
    keyedBy: 'sessions',
    read: async id => (await storage.sessions.byId(id)) !== undefined,
  });
  return { find: users.get, isRevoked: revoked.get, hasSession: sessions.get };
}
