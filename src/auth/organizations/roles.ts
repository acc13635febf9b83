import type { OrganizationRow, WorkspaceRoleRow } from '../../storage/stores/organizations.ts';
import type { OrganizationRole } from '../../storage/tables.ts';
import { ROLE_RANKS } from '../actor.ts';
import { isRole, type Permission, permissionsOf, RESOURCES, type Role } from '../permissions.ts';

/** A role in an organization, and roles in single workspaces. */
export interface RoleAssignments {
  readonly role: OrganizationRole;
  readonly roles: readonly WorkspaceRoleRow[];
}

/** Where the plan has no role selector every token of a credential is Admin, whatever its roles. */
export const effectiveAssignments = (
  organization: Pick<OrganizationRow, 'role_selector'>,
  assignments: RoleAssignments,
): RoleAssignments => (organization.role_selector === 1 ? assignments : { role: 'admin', roles: [] });

/** The resulting role in a workspace, by its id in the organization; undefined for no access. */
export function roleInWorkspace({ role, roles }: RoleAssignments, workspace: string): Role | undefined {
  if (role !== 'user') return 'admin';
  const found = roles.find(row => row.workspace === workspace)?.role;
  return found !== undefined && isRole(found) ? found : undefined;
}

/** The permissions in all workspaces together. */
export function permissionsGrantedBy({ role, roles }: RoleAssignments): ReadonlySet<Permission> {
  if (role !== 'user') return permissionsOf('admin');
  const granted = new Set<Permission>();
  for (const { role: each } of roles)
    if (isRole(each)) for (const permission of permissionsOf(each)) granted.add(permission);
  return granted;
}

/** True when `before` grants something that `after` does not. */
export function isReduced(after: RoleAssignments, before: RoleAssignments): boolean {
  if (ROLE_RANKS[after.role] < ROLE_RANKS[before.role]) return true;
  if (before.role !== 'user' || after.role !== 'user') return false;
  return before.roles.some(({ workspace }) => {
    const [now, then] = [roleInWorkspace(after, workspace), roleInWorkspace(before, workspace)];
    return then !== undefined && (now === undefined || ![...permissionsOf(then)].every(isGrantedBy(now)));
  });
}

const isGrantedBy =
  (role: Role) =>
  (permission: Permission): boolean =>
    permissionsOf(role).has(permission);

const SCOPE_PREFIX = 'user:';
const asScope = (permission: Permission): string => `${SCOPE_PREFIX}${permission}`;
const ALL: readonly Permission[] = RESOURCES.flatMap(resource => [
  `read:${resource}` as const,
  `update:${resource}` as const,
]);

/** The permissions as OAuth writes them: `user:<action>:<resource>`, separated by spaces (RFC 6749, section 3.3). */
export const formatScope = (permissions: ReadonlySet<Permission>): string =>
  ALL.filter(permission => permissions.has(permission))
    .map(asScope)
    .join(' ');

const PERMISSIONS: ReadonlyMap<string, Permission> = new Map(
  ALL.map(permission => [asScope(permission), permission]),
);

/** The permissions of a scope; undefined when it names an unknown one. */
export function parseScope(scope: string): ReadonlySet<Permission> | undefined {
  const found = new Set<Permission>();
  for (const word of scope.split(' ')) {
    const permission = PERMISSIONS.get(word);
    if (permission !== undefined) found.add(permission);
    else if (word !== '') return undefined;
  }
  return found;
}
