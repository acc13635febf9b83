import type { WorkspaceRoleRow } from './organization-store.ts';
import type { Page, PageRequest } from './page.ts';
import type { CredentialRoleTable, CredentialSecretTable, CredentialTable } from './tenant-tables.ts';

export type CredentialRow = CredentialTable;
export type CredentialSecretRow = CredentialSecretTable;
type CredentialRoleRow = CredentialRoleTable;

/** The programs that may call; those that were deleted are not seen but by `get`. */
export interface CredentialStore {
  /** Whether it was deleted or not. */
  get(clientId: string): Promise<CredentialRow | undefined>;
  /** By name. */
  list(organization: string, page: PageRequest): Promise<Page<CredentialRow>>;
  /** Those that are enabled and expire or have expired, the first to end first; at most `most`. */
  ending(organization: string, most: number): Promise<readonly CredentialRow[]>;
  /** Oldest first. */
  secrets(clientId: string): Promise<readonly CredentialSecretRow[]>;
  /** By credential and workspace. At most 1,000 ids a call. */
  roles(clientIds: readonly string[]): Promise<readonly CredentialRoleRow[]>;
}

/** When a secret was last used, epoch ms. */
export interface SecretUse {
  readonly id: string;
  readonly at: number;
}

/** What a transaction does with credentials. Each change but `noteUses` is to begin with `numberUserChange`. */
export interface CredentialTransaction {
  credential(clientId: string): Promise<CredentialRow | undefined>;
  /** The one of that name that is not deleted. */
  credentialByName(organization: string, name: string): Promise<CredentialRow | undefined>;
  /** Those that are not deleted. */
  countCredentials(organization: string): Promise<number>;
  /** Refused with `conflict` when the client id exists, or the name among those that are not deleted. */
  addCredential(row: CredentialRow): Promise<void>;
  /** Replaces the row of that client id but for when it was last used. Refused with `conflict` as `addCredential`. */
  updateCredential(row: CredentialRow): Promise<void>;
  credentialRoles(clientId: string): Promise<readonly CredentialRoleRow[]>;
  /** Replaces all roles of the credential. */
  setCredentialRoles(clientId: string, roles: readonly WorkspaceRoleRow[]): Promise<void>;
  /** Oldest first. */
  credentialSecrets(clientId: string): Promise<readonly CredentialSecretRow[]>;
  addCredentialSecret(row: CredentialSecretRow): Promise<void>;
  /** Refuses it from `notAfter` (epoch ms) on. */
  endCredentialSecret(clientId: string, id: string, notAfter: number): Promise<void>;
  removeCredentialSecret(clientId: string, id: string): Promise<void>;
  /** Keeps the latest for each secret and its credential. No change that anybody is told of: it lets nobody in or out. */
  noteUses(uses: readonly SecretUse[]): Promise<void>;
}
