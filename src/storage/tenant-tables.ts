/** How a member or a credential stands to an organization. */
export const ORGANIZATION_ROLES = ['owner', 'admin', 'user'] as const;
export type OrganizationRole = (typeof ORGANIZATION_ROLES)[number];

type WorkspaceState = 'Provisioning' | 'Active' | 'Inactive' | 'Failed' | 'Deprovisioning';

/** A customer of the hosted deployment. */
export interface OrganizationTable {
  id: string;
  name: string;
  /** 0 where the plan has no role selector: every token has the role Admin then. */
  role_selector: number;
  created_at: number;
  updated_at: number;
}

export interface WorkspaceTable {
  organization: string;
  /** Unique in the organization. */
  id: string;
  alias: string;
  description: string;
  region: string;
  /** JSON list of texts. */
  tags: string;
  state: WorkspaceState;
  created_at: number;
  updated_at: number;
}

/** A user who belongs to an organization. */
export interface MemberTable {
  organization: string;
  user_id: string;
  role: OrganizationRole;
  created_by: string;
  created_at: number;
  updated_by: string;
  updated_at: number;
}

/** What a member of the role `user` may do in one workspace. */
export interface MemberRoleTable {
  organization: string;
  user_id: string;
  /** Its id in the organization. */
  workspace: string;
  role: string;
}

/** A program that calls in an organization's name (API credential). */
export interface CredentialTable {
  client_id: string;
  organization: string;
  /** Unique among those of the organization that are not deleted. */
  name: string;
  description: string;
  enabled: number;
  organization_role: OrganizationRole;
  /** JSON list of addresses and CIDR ranges; empty for any address. */
  ip_allowlist: string;
  /** Of the change of users that last ended this one's tokens; a token of another number is over. */
  version: number;
  /** From then on no token is issued or taken; null for never. */
  expires_at: number | null;
  created_by: string;
  created_at: number;
  updated_by: string;
  updated_at: number;
  last_used_at: number | null;
  /** Null while it is there: what is deleted stays for whoever reads the audit. */
  deleted_at: number | null;
}

/** One of the secrets of a credential, which has two for as long as one replaces the other. */
export interface CredentialSecretTable {
  id: string;
  client_id: string;
  /** HMAC-SHA-256 with the pepper of the installation, in base64url. */
  hash: string;
  created_at: number;
  /** From then on it is refused; null for never. */
  not_after: number | null;
  last_used_at: number | null;
}

/** What a credential of the role `user` may do in one workspace. */
export interface CredentialRoleTable {
  client_id: string;
  /** Its id in the organization. */
  workspace: string;
  role: string;
}

export interface TenantTables {
  organizations: OrganizationTable;
  workspaces: WorkspaceTable;
  members: MemberTable;
  member_roles: MemberRoleTable;
  credentials: CredentialTable;
  credential_secrets: CredentialSecretTable;
  credential_roles: CredentialRoleTable;
}
