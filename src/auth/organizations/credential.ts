import * as z from 'zod';
import { isAddressWithin, parseRange } from '../../lib/addresses.ts';
import { AppError } from '../../lib/errors.ts';
import type { Ids } from '../../lib/ids.ts';
import type { Secret } from '../../lib/secret.ts';
import type { Transaction } from '../../storage/storage.ts';
import type { CredentialRow, CredentialSecretRow } from '../../storage/stores/credentials.ts';
import type { WorkspaceRoleRow } from '../../storage/stores/organizations.ts';
import { ORGANIZATION_ROLES, type OrganizationRole } from '../../storage/tables.ts';
import { isRole, ROLES, type Role } from '../permissions.ts';
import { createIssuedSecrets, type IssuedSecrets } from '../tokens/issued-secrets.ts';
import { invalidField } from '../users/user.ts';
import { isReduced, type RoleAssignments } from './roles.ts';

/** A credential without its secrets and their hashes. Times are epoch ms. */
export interface CredentialDetails {
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
  readonly secrets: readonly SecretDetails[];
  readonly createdBy: string;
  readonly createdAt: number;
  readonly updatedBy: string;
  readonly updatedAt: number;
  /** When a token was last issued for it, to the minute. */
  readonly lastUsedAt: number | null;
}

interface SecretDetails {
  readonly id: string;
  readonly createdAt: number;
  readonly notAfter: number | null;
  readonly lastUsedAt: number | null;
}

export const credentialDetails = (
  row: CredentialRow,
  roles: readonly WorkspaceRoleRow[],
  secrets: readonly CredentialSecretRow[],
): CredentialDetails => ({
  clientId: row.client_id,
  organization: row.organization,
  name: row.name,
  description: row.description,
  enabled: row.enabled === 1,
  organizationRole: row.organization_role,
  workspaces: roles.flatMap(({ workspace, role }) => (isRole(role) ? [{ workspace, role }] : [])),
  ipAllowlist: parseAllowlist(row.ip_allowlist),
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

const MOST_ADDRESSES = 100;
const MOST_WORKSPACES = 100;

const text = z
  .string()
  .max(140, 'must be at most 140 characters')
  .regex(/^[^\p{Cc}\p{Cs}\p{Zl}\p{Zp}]*$/u, 'must hold printable characters only');

const role = z.strictObject({ workspace: z.string(), role: z.enum(ROLES) });

/** The fields of a credential; one that is left out stays, or has its default in a new credential. */
export const credentialFields = z.strictObject({
  name: text.regex(/\S/, 'must not be empty').optional(),
  description: text.optional(),
  enabled: z.boolean().optional(),
  organizationRole: z.enum(ORGANIZATION_ROLES).optional(),
  /** Counts for the role `user`, which needs one; the other roles are admin everywhere. */
  workspaces: z.array(role).max(MOST_WORKSPACES).readonly().optional(),
  ipAllowlist: z
    .array(z.string().refine(address => parseRange(address) !== undefined, 'must be an address or a range'))
    .max(MOST_ADDRESSES)
    .readonly()
    .optional(),
  /** Epoch ms; null for never. */
  expiresAt: z.int().positive().nullable().optional(),
});
export type CredentialFields = z.output<typeof credentialFields>;

export const forbidden = (message: string): AppError => new AppError('forbidden', message);

/** Throws `invalid-request` unless the organization has the workspaces, each named once. */
export async function assertWorkspacesExist(
  tx: Pick<Transaction, 'workspace'>,
  organization: string,
  { role, roles }: RoleAssignments,
): Promise<void> {
  if (role !== 'user') return;
  if (roles.length === 0)
    throw invalidField(
      'roles.workspaces',
      "must give the role 'user' a role in a workspace; without `products` it is 'user'",
    );
  const names = roles.map(({ workspace }) => workspace);
  if (new Set(names).size < names.length)
    throw invalidField('roles.workspaces', 'must name each workspace once');
  for (const [index, name] of names.entries())
    if ((await tx.workspace(organization, name)) === undefined)
      throw invalidField(
        `roles.workspaces[${index}].workspaceId`,
        `'${name}' is no workspace of the organization`,
      );
}

/** Roles in workspaces count for the role `user` only. */
export const assignmentsOf = (
  role: OrganizationRole,
  roles: readonly WorkspaceRoleRow[],
): RoleAssignments => ({
  role,
  roles:
    role === 'user'
      ? roles.map(({ workspace, role: workspaceRole }) => ({ workspace, role: workspaceRole }))
      : [],
});

/** Throws `forbidden` when a credential gives itself more, or for longer, or from elsewhere. */
export function assertNoEscalation(
  before: { readonly row: CredentialRow; readonly assignments: RoleAssignments },
  after: { readonly row: CredentialRow; readonly assignments: RoleAssignments },
): void {
  const isWider =
    isReduced(before.assignments, after.assignments) ||
    (after.row.expires_at ?? Infinity) > (before.row.expires_at ?? Infinity) ||
    isWiderAllowlist(after.row, before.row);
  if (isWider) throw forbidden('A credential cannot give itself more than it has');
}

function isWiderAllowlist(after: CredentialRow, before: CredentialRow): boolean {
  const [now, then] = [parseAllowlist(after.ip_allowlist), parseAllowlist(before.ip_allowlist)];
  return then.length > 0 && (now.length === 0 || !now.every(address => then.includes(address)));
}

/** The prefix of credential secrets. */
const SECRET_PREFIX = 'hgs';
/** The new one, and the one it replaces. */
const MOST_SECRETS = 2;

export const createCredentialSecrets = (pepper: Secret): IssuedSecrets =>
  createIssuedSecrets(SECRET_PREFIX, pepper);

export interface NewCredentialSecret {
  readonly secret: Secret;
  readonly row: CredentialSecretRow;
}

export function newCredentialSecret(made: {
  readonly secrets: IssuedSecrets;
  readonly ids: Ids;
  readonly clientId: string;
  readonly now: number;
}): NewCredentialSecret {
  const secret = made.secrets.make();
  return {
    secret,
    row: {
      id: made.ids.next(),
      client_id: made.clientId,
      hash: made.secrets.digestOf(secret.reveal()),
      created_at: made.now,
      not_after: null,
      last_used_at: null,
    },
  };
}

/** Decides which of the present secrets, oldest first, are removed or end when a credential gets another one. */
export function planRotation(
  present: readonly CredentialSecretRow[],
  { now, graceMs }: { readonly now: number; readonly graceMs: number },
): {
  readonly removed: readonly CredentialSecretRow[];
  readonly ended: readonly { readonly id: string; readonly notAfter: number }[];
} {
  const live =
    graceMs === 0 ? [] : present.filter(secret => isSecretLive(secret, now)).slice(1 - MOST_SECRETS);
  return {
    removed: present.filter(secret => !live.includes(secret)),
    ended: live.map(({ id, not_after }) => ({
      id,
      notAfter: Math.min(not_after ?? Infinity, now + graceMs),
    })),
  };
}

export const isSecretLive = ({ not_after }: Pick<CredentialSecretRow, 'not_after'>, now: number): boolean =>
  not_after === null || not_after > now;

const storedAddresses = z.array(z.string());

/** The store keeps addresses and ranges in JSON. */
const parseAllowlist = (stored: string): readonly string[] => storedAddresses.parse(JSON.parse(stored));

/** An empty list allows every address; any other allows no unknown address. */
export function isAllowedFrom(stored: string, address: string | undefined): boolean {
  const addresses = parseAllowlist(stored);
  if (addresses.length === 0) return true;
  return (
    address !== undefined &&
    isAddressWithin(
      address,
      addresses.flatMap(text => {
        const range = parseRange(text);
        return range === undefined ? [] : [range];
      }),
    )
  );
}
