import { AppError } from '../../lib/errors.ts';
import type { OrganizationRole } from '../../storage/tables.ts';
import type { Permission } from '../permissions.ts';

/** Whoever manages an organization: one of its members, or a program with one of its credentials. */
export interface OrganizationActor {
  readonly kind: 'member' | 'credential';
  /** Of the user, or the client id. */
  readonly id: string;
  readonly name: string;
  readonly organization: string;
  readonly role: OrganizationRole;
  /** What the token was asked for, when that was less than everything. */
  readonly tokenScope?: ReadonlySet<Permission>;
}

/** Whoever can change these could give themselves what their token was asked for without. */
const DELEGATING: ReadonlySet<Permission> = new Set(['update:credentials', 'update:members']);

/** Throws `forbidden` for a token that was asked for less than this takes. */
export function assertTokenAllows(
  { tokenScope }: Pick<OrganizationActor, 'tokenScope'>,
  permission: Permission,
): void {
  if (tokenScope === undefined) return;
  if (!tokenScope.has(permission))
    throw new AppError('forbidden', `The token was asked for without the permission '${permission}'`);
  if (DELEGATING.has(permission))
    throw new AppError(
      'forbidden',
      'A token that was asked for a scope changes nobody else; ask for one without scope',
    );
}

/** Throws `forbidden` unless the role is to manage the organization. */
export function assertAdministersOrganization({ role }: Pick<OrganizationActor, 'role'>): void {
  if (role === 'user')
    throw new AppError('forbidden', 'Only owners and admins of the organization may manage it');
}

/** Nobody gives more than they hold, nor takes from whoever holds more. Throws `forbidden`. */
export function assertCanAssignRoles(
  actor: Pick<OrganizationActor, 'role'>,
  ...roles: readonly OrganizationRole[]
): void {
  assertAdministersOrganization(actor);
  if (roles.includes('owner') && actor.role !== 'owner')
    throw new AppError('forbidden', 'Only an owner of the organization may make or change an owner');
}
