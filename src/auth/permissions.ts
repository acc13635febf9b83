import { AppError } from '../lib/errors.ts';

export const RESOURCES = [
  'inputs',
  'outputs',
  'notifications',
  'targets',
  'messages',
  'incidents',
  'silences',
  'deliveries',
  'users',
  'settings',
  'audit',
  'credentials',
  'members',
  'workspaces',
] as const;
export type Resource = (typeof RESOURCES)[number];
export type Permission = `${'read' | 'update'}:${Resource}`;

export const ROLES = ['admin', 'editor', 'notification_admin', 'reader', 'user'] as const;
export type Role = (typeof ROLES)[number];

/** Whoever makes a call, as the store knows them at this moment. */
export interface Actor {
  /** A local user, or by which of its parts an organization of the hosted deployment calls. */
  readonly kind: 'user' | 'credential' | 'member';
  readonly id: string;
  readonly name: string;
  readonly role: Role;
  /** Whether the own password must be changed before anything else. */
  readonly mustChangePassword?: boolean;
  /** What the token was asked for, when that was less than everything; anything of the role when left out. */
  readonly tokenScope?: ReadonlySet<Permission>;
  /** What was shown to prove it. */
  readonly token?: PresentedToken;
}

interface PresentedToken {
  readonly id: string;
  /** Epoch ms. */
  readonly expiresAt: number;
  /** Id of the browser's session it was made for. */
  readonly session?: string;
}

const read = (...resources: readonly Resource[]): Permission[] =>
  resources.map(resource => `read:${resource}` as const);
const update = (...resources: readonly Resource[]): Permission[] =>
  resources.map(resource => `update:${resource}` as const);

const ADMINISTRATION: readonly Resource[] = ['users', 'settings', 'audit'];
const readAllButAdministration = read(...RESOURCES.filter(resource => !ADMINISTRATION.includes(resource)));

const PERMISSIONS: Readonly<Record<Role, ReadonlySet<Permission>>> = {
  admin: new Set([...read(...RESOURCES), ...update(...RESOURCES)]),
  editor: new Set([
    ...readAllButAdministration,
    ...update('inputs', 'outputs', 'notifications', 'targets', 'messages', 'silences', 'deliveries'),
  ]),
  notification_admin: new Set([
    ...readAllButAdministration,
    ...update('notifications', 'targets', 'messages', 'silences', 'deliveries'),
  ]),
  reader: new Set(
    read('inputs', 'outputs', 'notifications', 'targets', 'messages', 'incidents', 'silences', 'deliveries'),
  ),
  user: new Set(),
};

export const isRole = (text: string): text is Role => ROLES.some(role => role === text);

export const permissionsOf = (role: Role): ReadonlySet<Permission> => PERMISSIONS[role];

/** What the actor may do: what the role grants, as far as the token was asked for it. */
export function grantsOf({ role, tokenScope }: Pick<Actor, 'role' | 'tokenScope'>): ReadonlySet<Permission> {
  const granted = permissionsOf(role);
  return tokenScope === undefined
    ? granted
    : new Set([...granted].filter(permission => tokenScope.has(permission)));
}

/** Throws `password-change-required`, naming the remedy, for whoever has to change the password first. */
export function assertNoPasswordChangeDue({ id, mustChangePassword }: Actor): void {
  if (mustChangePassword === true)
    throw new AppError(
      'password-change-required',
      `The password must be changed first: PATCH /api/v1/system/users/${id}/info with password and currentPassword`,
    );
}

/** Throws `forbidden`, naming the permission, unless the actor's role grants it, and as `assertPasswordIsOwn`. */
export function authorise(actor: Actor, permission: Permission): void {
  assertNoPasswordChangeDue(actor);
  if (!permissionsOf(actor.role).has(permission))
    throw new AppError('forbidden', `The role '${actor.role}' lacks the permission '${permission}'`);
  if (actor.tokenScope?.has(permission) === false)
    throw new AppError('forbidden', `The token was asked for without the permission '${permission}'`);
}
