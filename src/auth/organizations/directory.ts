import type { Storage } from '../../storage/storage.ts';
import type { CredentialRow, CredentialSecretRow } from '../../storage/stores/credentials.ts';
import type { OrganizationRow, WorkspaceRoleRow } from '../../storage/stores/organizations.ts';
import type { UserRow, UserStore } from '../../storage/stores/users.ts';
import type { OrganizationRole } from '../../storage/tables.ts';
import type { ChangeFeed } from '../change-feed.ts';

/** A credential with its secrets and roles. */
export interface CredentialRecord {
  readonly row: CredentialRow;
  /** Oldest first. */
  readonly secrets: readonly CredentialSecretRow[];
  readonly roles: readonly WorkspaceRoleRow[];
}

/** The roles of a user in one organization. */
interface Membership {
  readonly organization: string;
  readonly role: OrganizationRole;
  readonly roles: readonly WorkspaceRoleRow[];
}

/** Caches organizations, credentials and members, which every request needs; all throw as `EntityCache.get` does. */
export interface TenantDirectory {
  organization(id: string): Promise<OrganizationRow | undefined>;
  credential(clientId: string): Promise<CredentialRecord | undefined>;
  /** True when `credential` would not read the store; always false for an unknown one. */
  isCached(clientId: string): boolean;
  /** Reads the store as `credential` does, also for a cached one. */
  readCredential(clientId: string): Promise<CredentialRecord | undefined>;
  memberships(userId: string): Promise<readonly Membership[]>;
  /**
   * The account in the organization of the person who is signed in as that user: the same one, or one that the identity
   * provider has vouched for as well, for which the store is read.
   */
  accountIn(organization: string, userId: string): Promise<MemberAccount | undefined>;
}

/** The account of a person in one organization, and its roles there. */
interface MemberAccount {
  readonly userId: string;
  /** The account's address, when it is another account than the one that is signed in. */
  readonly name?: string;
  readonly membership: Membership;
}

export function createTenantDirectory(
  feed: Pick<ChangeFeed, 'cache'>,
  storage: Pick<Storage, 'organizations' | 'credentials' | 'users'>,
): TenantDirectory {
  /** Reads all at once, also for an unknown credential: the time it takes must not reveal which exist. */
  async function readCredential(clientId: string): Promise<CredentialRecord | undefined> {
    const [row, secrets, roles] = await Promise.all([
      storage.credentials.get(clientId),
      storage.credentials.secrets(clientId),
      storage.credentials.roles([clientId]),
    ]);
    return row && { row, secrets, roles };
  }

  async function readMemberships(userId: string): Promise<readonly Membership[]> {
    const rows = await storage.organizations.membershipsOf(userId);
    return Promise.all(
      rows.map(async ({ organization, role }) => ({
        organization,
        role,
        roles: await storage.organizations.memberRoles(organization, [userId]),
      })),
    );
  }

  const organizations = feed.cache({ keyedBy: 'organizations', read: id => storage.organizations.get(id) });
  const credentials = feed.cache({
    keyedBy: 'credentials',
    // A removed workspace removes the roles in it.
    alsoInvalidatedBy: ['organizations'],
    read: readCredential,
    // Made-up ids must not push out those in use.
    isCacheable: credential => credential !== undefined,
  });
  const members = feed.cache({
    keyedBy: 'members',
    alsoInvalidatedBy: ['organizations'],
    read: readMemberships,
  });

  async function memberIn(organization: string, userId: string): Promise<MemberAccount | undefined> {
    const memberships = await members.get(userId);
    const membership = memberships.find(one => one.organization === organization);
    return membership && { userId, membership };
  }

  return {
    organization: organizations.get,
    credential: credentials.get,
    isCached: clientId => credentials.peek(clientId) !== undefined,
    readCredential,
    memberships: members.get,
    async accountIn(organization, userId) {
      const own = await memberIn(organization, userId);
      if (own !== undefined) return own;
      const other = await samePersonIn(storage.users, { organization, userId });
      const account = other && (await memberIn(organization, other.id));
      return account && { ...account, name: other.username };
    },
  };
}

/** A person who signs in with a password is known by that one account. */
async function samePersonIn(
  users: Pick<UserStore, 'byId' | 'accountsOf'>,
  { organization, userId }: { readonly organization: string; readonly userId: string },
): Promise<UserRow | undefined> {
  const user = await users.byId(userId);
  if (user === undefined || user.issuer === null || user.subject === null || user.password !== '')
    return undefined;
  const accounts = await users.accountsOf(user.issuer, user.subject);
  return accounts.find(one => one.organization === organization && one.disabled === 0 && one.password === '');
}
