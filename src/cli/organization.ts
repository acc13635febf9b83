import { type Command, InvalidArgumentError, Option } from 'commander';
import * as z from 'zod';
import { wireRoles } from '../api/organizations/roles.ts';
import { ROLES, type Role } from '../auth/permissions.ts';
import { AppError } from '../lib/errors.ts';
import { ORGANIZATION_ROLES, type OrganizationRole } from '../storage/tenant-tables.ts';
import { EXIT, type Finish } from './exit.ts';
import { explain } from './explain.ts';
import type { Organization } from './organization-api.ts';
import { type ServerFlags, withServer } from './session.ts';

/** Flags of every command that asks the login service about an organization. */
export interface OrganizationFlags extends ServerFlags {
  readonly org?: string;
}

export const orgOption = (): Option =>
  new Option('--org <id>', 'the organization, for commands that manage one').env('HEADGATE_ORG');

export const withOrganization = (command: Command): Command => withServer(command).addOption(orgOption());

/** Asks the login service about an organization and says what it answered, or what stood in the way. */
export async function askOrganization(
  finish: Finish,
  flags: OrganizationFlags,
  work: (organization: Organization) => Promise<void>,
): Promise<void> {
  try {
    const { openOrganization } = await import('./organization-api.ts');
    await work(await openOrganization(flags));
    finish(EXIT.ok);
  } catch (error) {
    finish(explain(error));
  }
}

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

/** What is deleted cannot be brought back, and others notice at once: nobody is to do it by a slip. */
export const meantOption = (): Option => new Option('--yes', 'that it is meant').makeOptionMandatory();

/** Roles as the management plane writes them; undefined when none are named. Throws `invalid-request`. */
export function rolesIn({ role, workspace }: RoleFlags) {
  if (role !== undefined) return wireRoles({ organizationRole: role, workspaces: workspace });
  if (workspace.length === 0) return undefined;
  throw new AppError('invalid-request', '--workspace needs --role as well: all roles are replaced together');
}

/** Throws `invalid-request` when nothing stands in a change. */
export function assertChanges(body: object): void {
  if (Object.keys(body).length === 0)
    throw new AppError('invalid-request', 'name what is to be changed; --help lists the flags');
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
