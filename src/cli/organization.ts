import { HeadgateConnectionError, HeadgateError } from '@headgate/client';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { wireRoles } from '../api/v1/roles.ts';
import { ROLES, type Role } from '../auth/permissions.ts';
import { AppError } from '../lib/errors.ts';
import { ORGANIZATION_ROLES, type OrganizationRole } from '../storage/tables.ts';
import { orgOption } from './options.ts';
import type { OrganizationClient, OrganizationFlags, ShownRoles } from './organization-client.ts';
import { reportFailure } from './output/explain.ts';
import { EXIT, type Finish, printError } from './output/output.ts';
import { printItem } from './output/table.ts';
import { withServerOptions } from './session.ts';

/** Typed as `main=editor`. */
interface WorkspaceGrant {
  readonly workspace: string;
  readonly role: Role;
}

export interface RoleFlags {
  readonly role?: OrganizationRole;
  readonly workspace: readonly WorkspaceGrant[];
}

export const roleOption = (): Option =>
  new Option('--role <role>', 'the role in the organization').choices(ORGANIZATION_ROLES);

export const workspaceOption = (): Option =>
  new Option('--workspace <id=role>', 'role of a `user` in a workspace; repeat it for more')
    .argParser(parseGrant)
    .default([], 'none');

function parseGrant(text: string, before: readonly WorkspaceGrant[]): readonly WorkspaceGrant[] {
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

/** Formats roles in workspaces as they are typed: `main=editor`. */
export const formatGrants = ({ workspaces }: ShownRoles): string =>
  workspaces
    .map(
      ({ workspaceId, workspaceRole, products = [] }) =>
        `${workspaceId}=${products[0]?.role ?? workspaceRole}`,
    )
    .join(' ');

export const withOrganizationOptions = (command: Command): Command =>
  withServerOptions(command).addOption(orgOption());

/** Runs calls of an organization, and reports a failure. */
export async function runOnOrganization(
  finish: Finish,
  flags: OrganizationFlags,
  work: (organization: OrganizationClient) => Promise<void>,
): Promise<void> {
  try {
    const { openOrganization } = await import('./organization-client.ts');
    await work(await openOrganization(flags));
    finish(EXIT.ok);
  } catch (error) {
    finish(reportFailure(error));
  }
}

/** A deletion cannot be undone and takes effect at once: it must not happen by a slip. */
export const confirmOption = (): Option => new Option('--yes', 'confirm the deletion').makeOptionMandatory();

/** Throws `invalid-request` for an empty change. */
export function assertChanges(body: object): void {
  if (Object.keys(body).length === 0)
    throw new AppError('invalid-request', 'name what is to be changed; --help lists the flags');
}

/** Shows the changed object. A caller who has changed their own roles has no valid token any more to read it with. */
export async function printChanged(read: () => Promise<object>, flags: OrganizationFlags): Promise<void> {
  try {
    printItem(await read(), flags);
  } catch (error) {
    if (!(error instanceof HeadgateError || error instanceof HeadgateConnectionError)) throw error;
    printError(`it is changed, and cannot be shown: ${error.message}`);
  }
}
