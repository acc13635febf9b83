import type { Storage } from '../../storage/storage.ts';
import type { CredentialRow, CredentialSecretRow } from '../../storage/stores/credentials.ts';
import type { OrganizationRow, WorkspaceRoleRow } from '../../storage/stores/organizations.ts';
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
}

export function createTenantDirectory(
  feed: Pick<ChangeFeed, 'cache'>,
  storage: Pick<Storage, 'organizations' | 'credentials'>,
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
  return {
    organization: organizations.get,
    credential: credentials.get,
    isCached: clientId => credentials.peek(clientId) !== undefined,
    readCredential,
    memberships: members.get,
  };
}
