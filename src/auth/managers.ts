import { AppError } from '../lib/errors.ts';
import type { OrganizationRole } from '../storage/tenant-tables.ts';

/** Whoever manages an organization: one of its members, or a program with one of its credentials. */
export interface Manager {
  readonly kind: 'member' | 'credential';
  /** Of the user, or the client id. */
  readonly id: string;
  readonly name: string;
  readonly organization: string;
  readonly role: OrganizationRole;
}

/** Throws `forbidden` unless the role is to manage the organization. */
export function assertManages({ role }: Pick<Manager, 'role'>): void {
  if (role === 'user')
    throw new AppError('forbidden', 'Only owners and admins of the organization may manage it');
}

/** Nobody gives more than they hold, nor takes from whoever holds more. Throws `forbidden`. */
export function assertMayGive(manager: Pick<Manager, 'role'>, ...roles: readonly OrganizationRole[]): void {
  assertManages(manager);
  if (roles.includes('owner') && manager.role !== 'owner')
    throw new AppError('forbidden', 'Only an owner of the organization may make or change an owner');
}
