import { createCaller, HeadgateConnectionError, HeadgateError } from '@headgate/client';
import { type Command, InvalidArgumentError, Option } from 'commander';
import * as z from 'zod';
import { credentialOperations } from '../api/v1/credentials.ts';
import { memberOperations, wireRoles } from '../api/v1/members.ts';
import { ORGANIZATIONS_PREFIX } from '../api/v1/organization-operation.ts';
import { workspaceOperations } from '../api/v1/workspaces.ts';
import { ROLES, type Role } from '../auth/permissions.ts';
import { AppError } from '../lib/errors.ts';
import { ORGANIZATION_ROLES, type OrganizationRole } from '../storage/tables.ts';
import { orgOption } from './options.ts';
import { reportFailure } from './output/explain.ts';
import { EXIT, type Finish, printError } from './output/output.ts';
import { printItem } from './output/table.ts';
import { findLogin, type ServerFlags, withServerOptions } from './session.ts';

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

/** The roles that lists show. */
export const shownRolesSchema = z.looseObject({
  organizationRole: z.string(),
  workspaces: z.array(
    z.looseObject({
      workspaceId: z.string(),
      workspaceRole: z.string(),
      products: z.array(z.looseObject({ role: z.string() })).optional(),
    }),
  ),
});

/** Formats roles in workspaces as they are typed: `main=editor`. */
export const formatGrants = ({ workspaces }: z.output<typeof shownRolesSchema>): string =>
  workspaces
    .map(
      ({ workspaceId, workspaceRole, products = [] }) =>
        `${workspaceId}=${products[0]?.role ?? workspaceRole}`,
    )
    .join(' ');

/** The operations of the login service; a caller needs no domain. */
const OPERATIONS = [...credentialOperations, ...memberOperations, ...workspaceOperations(() => '')] as const;
type OperationId = (typeof OPERATIONS)[number]['id'];
/** Rows of one answer at most. */
const PAGE = 1000;

/** Flags of every command that calls the login service for an organization. */
export interface OrganizationFlags extends ServerFlags {
  readonly org?: string;
}

interface CallInput {
  readonly id?: string;
  readonly secret?: string;
  readonly body?: object;
}

/** Calls operations of an organization at the login service. All throw as a client's operations. */
export interface OrganizationClient {
  /** Returns the answer, an object without keys when it has no body. */
  call(operation: OperationId, said?: CallInput): Promise<Record<string, unknown>>;
  /** Reads all pages of a list. */
  list<Row extends object>(operation: OperationId, row: z.ZodType<Row>): Promise<readonly Row[]>;
}

/** Throws as `findLogin`, and `invalid-request` when no login service or no organization is named. */
export async function openOrganization({ org, ...flags }: OrganizationFlags): Promise<OrganizationClient> {
  const { profile, at } = await findLogin(flags);
  const { authUrl, token = '' } = at;
  const organization = org || at.organization;
  if (authUrl === undefined)
    throw new AppError('invalid-request', `${loginName(profile)} names no login service; ${remedy(profile)}`);
  if (organization === undefined)
    throw new AppError('invalid-request', 'name the organization with --org, here or at headgate login');
  const caller = createCaller({
    baseUrl: authUrl.replace(/\/+$/, '') + ORGANIZATIONS_PREFIX,
    auth: { token },
  });

  async function call(id: OperationId, input: object): Promise<Record<string, unknown>> {
    const operation = OPERATIONS.find(one => one.id === id);
    if (operation === undefined) throw new AppError('internal', `there is no operation ${id}`);
    const path = `/{org}${operation.path}`.replace(/:(\w+)/g, '{$1}');
    const { method } = operation;
    const answer = await caller(
      { method, path, query: ['offset', 'limit'] },
      { ...input, org: organization },
    );
    return answer ?? {};
  }

  return {
    call: (id, said = {}) => call(id, said),
    async list(id, row) {
      const page = z.object({ items: z.array(row) });
      const rows = [];
      for (;;) {
        const read = page.safeParse(await call(id, { offset: rows.length, limit: PAGE }));
        if (!read.success)
          throw new HeadgateConnectionError(
            `the answer is not what this version knows: ${read.error.message}`,
          );
        rows.push(...read.data.items);
        if (read.data.items.length < PAGE) return rows;
      }
    },
  };
}

const loginName = (profile: string | undefined): string =>
  profile === undefined ? 'the environment' : `profile '${profile}'`;

const remedy = (profile: string | undefined): string =>
  profile === undefined ? 'set HEADGATE_AUTH_URL' : 'run headgate login with --auth-url';

export const withOrganizationOptions = (command: Command): Command =>
  withServerOptions(command).addOption(orgOption());

/** Runs calls of an organization, and reports a failure. */
export async function runOnOrganization(
  finish: Finish,
  flags: OrganizationFlags,
  work: (organization: OrganizationClient) => Promise<void>,
): Promise<void> {
  try {
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
