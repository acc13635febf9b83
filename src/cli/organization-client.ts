import { createCaller, HeadgateConnectionError } from '@headgate/client';
import * as z from 'zod';
import { credentialOperations } from '../api/v1/credentials.ts';
import { memberOperations } from '../api/v1/members.ts';
import { ORGANIZATIONS_PREFIX } from '../api/v1/organization-operation.ts';
import { workspaceOperations } from '../api/v1/workspaces.ts';
import { AppError } from '../lib/errors.ts';
import { findLogin, type ServerFlags } from './session.ts';

/** The roles that lists show. */
const shownRolesSchema = z.looseObject({
  organizationRole: z.string(),
  workspaces: z.array(
    z.looseObject({
      workspaceId: z.string(),
      workspaceRole: z.string(),
      products: z.array(z.looseObject({ role: z.string() })).optional(),
    }),
  ),
});

export type ShownRoles = z.output<typeof shownRolesSchema>;

export const credentialRow = z.looseObject({
  clientId: z.string(),
  name: z.string(),
  description: z.string(),
  enabled: z.boolean(),
  roles: shownRolesSchema,
  expiresDate: z.string().nullable(),
  lastUsedDate: z.string().nullable(),
});

export const memberRow = z.looseObject({
  userId: z.string(),
  email: z.string(),
  enabled: z.boolean(),
  roles: shownRolesSchema,
});

export const workspaceRow = z.looseObject({
  workspaceId: z.string(),
  leaderFQDN: z.string(),
  state: z.string(),
  alias: z.string(),
  region: z.string(),
  tags: z.array(z.string()),
  description: z.string(),
});

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
