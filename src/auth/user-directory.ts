import type { Storage, UserRow } from '../storage/storage.ts';
import type { ChangeFeed } from './change-feed.ts';

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
  feed: Pick<ChangeFeed, 'memory'>,
  storage: Pick<Storage, 'users' | 'sessions'>,
): UserDirectory {
  const users = feed.memory({ by: 'users', read: id => storage.users.byId(id) });
  const revoked = feed.memory({ by: 'tokens', read: id => storage.users.isRevoked(id) });
  const sessions = feed.memory({
    by: 'sessions',
    read: async id => (await storage.sessions.byId(id)) !== undefined,
  });
  return { find: users.get, isRevoked: revoked.get, hasSession: sessions.get };
}
