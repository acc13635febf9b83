import type { Storage } from '../../storage/storage.ts';
import type { UserRow } from '../../storage/stores/users.ts';
import type { Actor } from '../actor.ts';
import type { ChangeFeed } from '../change-feed.ts';
import { unauthenticated, verifyBearer } from '../tokens/jwt.ts';
import type { SessionTokens } from '../tokens/session-tokens.ts';
import { roleOf } from '../users/user.ts';

/**
 * Finds the caller by the value of the Authorization header. The user is looked up for each call, so a changed role or
 * a removed user takes effect at once. Throws `unauthenticated`, and `unavailable` while the store does not answer.
 */
export type Authenticate = (
  authorization: string | undefined,
  /** Address of the caller: some may call from certain addresses only. */
  address?: string,
) => Promise<Actor>;

const REMEDIES = { missing: 'log in', invalid: 'log in again' };

export function createAuthenticate(options: {
  tokens: SessionTokens;
  directory: Pick<UserDirectory, 'find' | 'isRevoked' | 'hasSession'>;
}): Authenticate {
  const { tokens, directory } = options;
  return async authorization => {
    const { sub, ver, jti, exp, sid } = await verifyBearer(authorization, tokens, REMEDIES);
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

/** Caches users, revoked tokens and sessions, which every request needs. */
export interface UserDirectory {
  /** Throws `unavailable` when the store has not answered for 2 seconds whether something changed. */
  find(id: string): Promise<UserRow | undefined>;
  /** Throws as `find` does. */
  isRevoked(tokenId: string): Promise<boolean>;
  /** False once the browser's session has ended. Throws as `find` does. */
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
