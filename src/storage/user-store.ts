import type { Page, PageRequest } from './page.ts';
import type { UserTable } from './tables.ts';

export interface UserStore {
  count(): Promise<number>;
  byName(username: string): Promise<UserTable | undefined>;
  byId(id: string): Promise<UserTable | undefined>;
  /** Whoever the issuer vouches for under that name. */
  byIdentity(issuer: string, subject: string): Promise<UserTable | undefined>;
  /** By name. */
  list(page: PageRequest): Promise<Page<UserTable>>;
  /** Whether a token was given back before its time. */
  isRevoked(tokenId: string): Promise<boolean>;
  /**
   * How many changes there have been of users, members, organizations and credentials: another number says that something
   * is not as it was.
   */
  changes(): Promise<number>;
}
