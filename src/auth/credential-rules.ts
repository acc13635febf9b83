import * as z from 'zod';
import { parseRange } from '../lib/address-ranges.ts';
import { AppError } from '../lib/errors.ts';
import type { CredentialRow } from '../storage/credential-store.ts';
import type { WorkspaceRoleRow } from '../storage/organization-store.ts';
import type { Transaction } from '../storage/storage.ts';
import { ORGANIZATION_ROLES, type OrganizationRole } from '../storage/tenant-tables.ts';
import { addressesIn } from './ip-allowlist.ts';
import { ROLES } from './permissions.ts';
import { isLower, mayGrant, type Standing } from './tenant-roles.ts';
import { invalidField } from './users.ts';

const MOST_ADDRESSES = 100;
const MOST_WORKSPACES = 100;

const text = z
  .string()
  .max(140, 'must be at most 140 characters')
  .regex(/^[^\p{Cc}\p{Cs}\p{Zl}\p{Zp}]*$/u, 'must hold printable characters only');

const role = z.strictObject({ workspace: z.string(), role: z.enum(ROLES) });

/** What is said of a credential; what is left out stays, or has its default in a new one. */
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

/** Whoever administers credentials of the organization. */
export interface Administrator {
  /** As it stands beside what they made. */
  readonly name: string;
  readonly role: OrganizationRole;
  /** Of the credential that calls; undefined for a person. */
  readonly clientId?: string | undefined;
}

export const forbidden = (message: string): AppError => new AppError('forbidden', message);

/** Throws `forbidden` for members and credentials of the role `user`. */
export function assertAdministers({ role }: Administrator): void {
  if (role === 'user')
    throw forbidden("Credentials are administered by the organization's owners and admins");
}

/** Throws `forbidden` when it is more than the administrator holds. */
export function assertMayGrant({ role }: Administrator, given: OrganizationRole): void {
  if (!mayGrant(role, given)) throw forbidden(`Only an owner may give a credential the role '${given}'`);
}

/** Throws `invalid-request` unless the organization has the workspaces, each named once. */
export async function assertWorkspaces(
  tx: Pick<Transaction, 'workspace'>,
  organization: string,
  { role, roles }: Standing,
): Promise<void> {
  if (role !== 'user') return;
  if (roles.length === 0) throw invalidField('workspaces', "must name a workspace for the role 'user'");
  const names = roles.map(({ workspace }) => workspace);
  if (new Set(names).size < names.length) throw invalidField('workspaces', 'must name each workspace once');
  for (const [index, name] of names.entries())
    if ((await tx.workspace(organization, name)) === undefined)
      throw invalidField(`workspaces[${index}].workspace`, `names no workspace of '${organization}'`);
}

/** The roles in workspaces that count beside a role in the organization. */
export const standingOf = (role: OrganizationRole, roles: readonly WorkspaceRoleRow[]): Standing => ({
  role,
  roles: role === 'user' ? roles.map(({ workspace, role: own }) => ({ workspace, role: own })) : [],
});

/** Throws `forbidden` when a credential gives itself more, or for longer, or from elsewhere. */
export function assertNotUpward(
  before: { readonly row: CredentialRow; readonly standing: Standing },
  after: { readonly row: CredentialRow; readonly standing: Standing },
): void {
  const isWider =
    isLower(before.standing, after.standing) ||
    (after.row.expires_at ?? Infinity) > (before.row.expires_at ?? Infinity) ||
    isOpener(after.row, before.row);
  if (isWider) throw forbidden('A credential cannot give itself more than it has');
}

function isOpener(after: CredentialRow, before: CredentialRow): boolean {
  const [now, then] = [addressesIn(after.ip_allowlist), addressesIn(before.ip_allowlist)];
  return then.length > 0 && (now.length === 0 || !now.every(address => then.includes(address)));
}
