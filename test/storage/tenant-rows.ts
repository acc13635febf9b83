import type { CredentialRow, CredentialSecretRow } from '../../src/storage/stores/credentials.ts';
import type { MemberRow, OrganizationRow, WorkspaceRow } from '../../src/storage/stores/organizations.ts';

const TIME = Date.UTC(2026, 0, 1);

export const organizationRow = (id: string): OrganizationRow => ({
  id,
  name: id,
  role_selector: 1,
  created_at: TIME,
  updated_at: TIME,
});

export const workspaceRow = (organization: string, id: string): WorkspaceRow => ({
  organization,
  id,
  alias: '',
  description: '',
  region: '',
  tags: '[]',
  state: 'Active',
  created_at: TIME,
  updated_at: TIME,
});

export const memberRow = (organization: string, userId: string, role: MemberRow['role']): MemberRow => ({
  organization,
  user_id: userId,
  role,
  created_by: 'headgate',
  created_at: TIME,
  updated_by: 'headgate',
  updated_at: TIME,
});

/** Its client id is `<name>-<organization>`. */
export const credentialRow = (organization: string, name: string): CredentialRow => ({
  client_id: `${name}-${organization}`,
  organization,
  name,
  description: '',
  enabled: 1,
  organization_role: 'user',
  ip_allowlist: '[]',
  version: 1,
  expires_at: null,
  created_by: 'ann@acme.example',
  created_at: TIME,
  updated_by: 'ann@acme.example',
  updated_at: TIME,
  last_used_at: null,
  deleted_at: null,
});

export const secretOf = (clientId: string, id: string): CredentialSecretRow => ({
  id,
  client_id: clientId,
  hash: `hash of ${id}`,
  created_at: TIME,
  not_after: null,
  last_used_at: null,
});
