import { AppError } from '../lib/errors.ts';
import type { OrganizationRole } from '../storage/tables.ts';
import { type Permission, permissionsOf, type Role } from './permissions.ts';

/** The caller of an operation of a workspace, as the store knows them at this moment. */
export interface Actor {
  /** A local user, or the part of an organization of the hosted deployment that calls. */
  readonly kind: 'user' | 'credential' | 'member';
  readonly id: string;
  readonly name: string;
  readonly role: Role;
  /** The user must change the password before anything else. */
  readonly mustChangePassword?: boolean;
  /** The permissions that the token was requested for; everything that the role grants when left out. */
  readonly tokenScope?: ReadonlySet<Permission>;
  /** The token that was presented. */
  readonly token?: PresentedToken;
}

interface PresentedToken {
  readonly id: string;
  /** Epoch ms. */
  readonly expiresAt: number;
  /** Id of the browser's session it was issued for. */
  readonly session?: string;
}

/** The caller of an operation of an organization. */
export interface OrganizationActor {
  /** One of its members, a program with one of its credentials, or an operator who can write to the store itself. */
  readonly kind: 'member' | 'credential' | 'operator';
  /** Id of the user, or the client id; empty for an operator. */
  readonly id: string;
  /** Recorded beside everything that the actor creates or changes. */
  readonly name: string;
  readonly organization: string;
  readonly role: OrganizationRole;
  /** The permissions that the token was requested for, when these are less than everything. */
  readonly tokenScope?: ReadonlySet<Permission>;
}

/** The permissions of the role, limited to the scope of the token. */
export function grantsOf({ role, tokenScope }: Pick<Actor, 'role' | 'tokenScope'>): ReadonlySet<Permission> {
  const granted = permissionsOf(role);
  return tokenScope === undefined
    ? granted
    : new Set([...granted].filter(permission => tokenScope.has(permission)));
}

/**
 * Throws `password-change-required` when the actor has to change the password first. The remedy is one that works where
 * the caller is: members change theirs at the login service (`authUrl`).
 */
export function assertNoPasswordChangeDue({ id, mustChangePassword }: Actor, authUrl?: string): void {
  if (mustChangePassword !== true) return;
  const remedy =
    authUrl === undefined
      ? `PATCH /api/v1/system/users/${id}/info with password and currentPassword`
      : `POST ${authUrl}/session with username, password and newPassword`;
  throw passwordChangeRequired(remedy);
}

/** `remedy` is a request that is open to the caller: method, address as it is reached there, and what to send. */
export const passwordChangeRequired = (remedy: string): AppError =>
  new AppError('password-change-required', `The password must be changed first: ${remedy}`);

/** Throws `forbidden`, naming the permission, unless role and token grant it, and as `assertNoPasswordChangeDue`. */
export function authorise(actor: Actor, permission: Permission): void {
  assertNoPasswordChangeDue(actor);
  if (!permissionsOf(actor.role).has(permission))
    throw new AppError('forbidden', `The role '${actor.role}' lacks the permission '${permission}'`);
  if (actor.tokenScope?.has(permission) === false)
    throw new AppError('forbidden', `The token was asked for without the permission '${permission}'`);
}

/** An actor with one of these could give itself what its token was requested without. */
const DELEGATING: ReadonlySet<Permission> = new Set(['update:credentials', 'update:members']);

/** Throws `forbidden` unless the actor manages the organization with a token that includes the permission. */
export function authoriseInOrganization(actor: OrganizationActor, permission: Permission): void {
  assertManagesOrganization(actor);
  const { tokenScope } = actor;
  if (tokenScope === undefined) return;
  if (!tokenScope.has(permission))
    throw new AppError('forbidden', `The token was asked for without the permission '${permission}'`);
  if (DELEGATING.has(permission))
    throw new AppError(
      'forbidden',
      'A token that was asked for a scope changes nobody else; ask for one without scope',
    );
}

/** Throws `forbidden` for members and credentials of the role `user`. */
export function assertManagesOrganization({ role }: Pick<OrganizationActor, 'role'>): void {
  if (role === 'user')
    throw new AppError('forbidden', 'Only owners and admins of the organization may manage it');
}

/** The order of the roles in an organization. */
export const ROLE_RANKS: Readonly<Record<OrganizationRole, number>> = { user: 0, admin: 1, owner: 2 };

/**
 * The one rule of who may act on whom in an organization: nobody gives more than they hold, and nobody changes, takes
 * over or removes who holds more, be it a member or a credential. `subjects` are the roles before and after the change.
 * Throws `forbidden`.
 */
export function assertMayActOn(
  actor: Pick<OrganizationActor, 'role'>,
  ...subjects: readonly OrganizationRole[]
): void {
  assertManagesOrganization(actor);
  if (subjects.some(role => ROLE_RANKS[role] > ROLE_RANKS[actor.role]))
    throw new AppError(
      'forbidden',
      'Only an owner of the organization may make, change or remove an owner or a credential of that role',
    );
}
