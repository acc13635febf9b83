import { InvalidArgumentError, Option } from 'commander';
import * as z from 'zod';
import { wireRoles } from '../api/organizations/roles.ts';
import { ROLES, type Role } from '../auth/permissions.ts';
import { AppError } from '../lib/errors.ts';
import { ORGANIZATION_ROLES, type OrganizationRole } from '../storage/tenant-tables.ts';

/** As it is typed: `main=editor`. */
interface Granted {
  readonly workspace: string;
  readonly role: Role;
}

export interface RoleFlags {
  readonly role?: OrganizationRole;
  readonly workspace: readonly Granted[];
}

export const roleOption = (): Option =>
  new Option('--role <role>', 'the role in the organization').choices(ORGANIZATION_ROLES);

export const workspaceOption = (): Option =>
  new Option('--workspace <id=role>', 'what the role user may do in a workspace; may be given again')
    .argParser(granted)
    .default([], 'none');

function granted(text: string, before: readonly Granted[]): readonly Granted[] {
  const [workspace = '', name = '', ...rest] = text.split('=');
  const role = ROLES.find(one => one === name);
  if (workspace === '' || role === undefined || rest.length > 0)
    throw new InvalidArgumentError(
      `It must be a workspace and a role, as main=editor; roles are ${ROLES.join(', ')}.`,
    );
  return [...before, { workspace, role }];
}

/** Roles as the management plane writes them; undefined when none are named. Throws `invalid-request`. */
export function rolesIn({ role, workspace }: RoleFlags) {
  if (role !== undefined) return wireRoles({ organizationRole: role, workspaces: workspace });
  if (workspace.length === 0) return undefined;
  throw new AppError('invalid-request', '--workspace needs --role as well: all roles are replaced together');
}

/** What lists show of roles. */
export const rolesShown = z.looseObject({
  organizationRole: z.string(),
  workspaces: z.array(
    z.looseObject({
      workspaceId: z.string(),
      workspaceRole: z.string(),
      products: z.array(z.looseObject({ role: z.string() })).optional(),
    }),
  ),
});

/** Roles in workspaces as they are typed: `main=editor`. */
export const grantedText = ({ workspaces }: z.output<typeof rolesShown>): string =>
  workspaces
    .map(
      ({ workspaceId, workspaceRole, products = [] }) =>
        `${workspaceId}=${products[0]?.role ?? workspaceRole}`,
    )
    .join(' ');
