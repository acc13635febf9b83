import type { CredentialRow, CredentialSecretRow } from '../storage/credential-store.ts';
import type { WorkspaceRoleRow } from '../storage/organization-store.ts';
import type { OrganizationRole } from '../storage/tenant-tables.ts';
import { addressesIn } from './ip-allowlist.ts';
import { isRole, type Role } from './permissions.ts';

/** What may be told of a credential; never a secret or its hash. Times are epoch ms. */
export interface CredentialFacts {
  readonly clientId: string;
  readonly organization: string;
  readonly name: string;
  readonly description: string;
  readonly enabled: boolean;
  readonly organizationRole: OrganizationRole;
  /** Empty unless the role is `user`: the others are admin in every workspace. */
  readonly workspaces: readonly { readonly workspace: string; readonly role: Role }[];
  readonly ipAllowlist: readonly string[];
  readonly expiresAt: number | null;
  readonly secrets: readonly SecretFacts[];
  readonly createdBy: string;
  readonly createdAt: number;
  readonly updatedBy: string;
  readonly updatedAt: number;
  /** When a token was last issued for it, to the minute. */
  readonly lastUsedAt: number | null;
}

interface SecretFacts {
  readonly id: string;
  readonly createdAt: number;
  readonly notAfter: number | null;
  readonly lastUsedAt: number | null;
}

export const factsOf = (
  row: CredentialRow,
  roles: readonly WorkspaceRoleRow[],
  secrets: readonly CredentialSecretRow[],
): CredentialFacts => ({
  clientId: row.client_id,
  organization: row.organization,
  name: row.name,
  description: row.description,
  enabled: row.enabled === 1,
  organizationRole: row.organization_role,
  workspaces: roles.flatMap(({ workspace, role }) => (isRole(role) ? [{ workspace, role }] : [])),
  ipAllowlist: addressesIn(row.ip_allowlist),
  expiresAt: row.expires_at,
  secrets: secrets.map(({ id, created_at, not_after, last_used_at }) => ({
    id,
    createdAt: created_at,
    notAfter: not_after,
    lastUsedAt: last_used_at,
  })),
  createdBy: row.created_by,
  createdAt: row.created_at,
  updatedBy: row.updated_by,
  updatedAt: row.updated_at,
  lastUsedAt: row.last_used_at,
});
