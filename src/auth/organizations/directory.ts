import type { Storage } from '../../storage/storage.ts';
import type { CredentialRow, CredentialSecretRow } from '../../storage/stores/credentials.ts';
import type { OrganizationRow, WorkspaceRoleRow } from '../../storage/stores/organizations.ts';
import type { OrganizationRole } from '../../storage/tables.ts';
import type { ChangeFeed } from '../change-feed.ts';

/** A credential with all that a request needs to know of it. */
export interface CredentialRecord {
  readonly row: CredentialRow;
  /** Oldest first. */
  readonly secrets: readonly CredentialSecretRow[];
  readonly roles: readonly WorkspaceRoleRow[];
}

/** What a user is in one organization. */
interface Membership {
  readonly organization: string;
  readonly role: OrganizationRole;
  readonly roles: readonly WorkspaceRoleRow[];
}

/** Organizations, credentials and members as every request needs them; all throw as `Memory.get` does. */
export interface TenantDirectory {
  organization(id: string): Promise<OrganizationRow | undefined>;
  credential(clientId: string): Promise<CredentialRecord | undefined>;
  /** Whether `credential` would answer without asking the store; never so for one that is not there. */
  isCached(clientId: string): boolean;
  /** Asks the store as `credential` does, whatever is remembered. */
  readCredential(clientId: string): Promise<CredentialRecord | undefined>;
  memberships(userId: string): Promise<readonly Membership[]>;
}

export function createTenantDirectory(
  feed: Pick<ChangeFeed, 'cache'>,
  storage: Pick<Storage, 'organizations' | 'credentials'>,
): TenantDirectory {
  /** All at once, whether it is there or not: how long it takes must not tell. */
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
    // With a workspace the roles go that were in it.
    alsoInvalidatedBy: ['organizations'],
    read: readCredential,
    // Whoever makes ids up must not push out those that are in use.
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
