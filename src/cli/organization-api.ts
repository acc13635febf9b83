import { createCaller, HeadgateConnectionError } from '@headgate/client';
import * as z from 'zod';
import { credentialOperations } from '../api/organizations/credentials.ts';
import { memberOperations } from '../api/organizations/members.ts';
import { ORGANIZATIONS_PREFIX } from '../api/organizations/operation.ts';
import { workspaceOperations } from '../api/organizations/workspaces.ts';
import { AppError } from '../lib/errors.ts';
import { findLogin, type ServerFlags } from './session.ts';

/** The table that the login service serves; nothing is served here, so no domain is needed. */
const OPERATIONS = [...credentialOperations, ...memberOperations, ...workspaceOperations(() => '')] as const;
type OperationId = (typeof OPERATIONS)[number]['id'];
/** Most rows of one answer. */
const PAGE = 1000;

/** Flags of every command that asks the login service about an organization. */
export interface OrganizationFlags extends ServerFlags {
  readonly org?: string;
}

interface Said {
  readonly id?: string;
  readonly secret?: string;
  readonly body?: object;
}

/** An organization as the login service lets its owners and admins manage it. All throw as a client's operations. */
export interface Organization {
  /** Answers what came back, an object without keys when nothing did. */
  call(operation: OperationId, said?: Said): Promise<Record<string, unknown>>;
  /** Every row of a list, as far as `row` describes it and beyond. */
  list<Row extends object>(operation: OperationId, row: z.ZodType<Row>): Promise<readonly Row[]>;
}

/** Throws as `findLogin`, and `invalid-request` when no login service or no organization is named. */
export async function openOrganization({ org, ...flags }: OrganizationFlags): Promise<Organization> {
  const { profile, at } = await findLogin(flags);
  const { authUrl, token = '' } = at;
  const organization = org || at.organization;
  if (authUrl === undefined)
    throw new AppError('invalid-request', `${whose(profile)} names no login service; ${remedy(profile)}`);
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

const whose = (profile: string | undefined): string =>
  profile === undefined ? 'the environment' : `profile '${profile}'`;

const remedy = (profile: string | undefined): string =>
  profile === undefined ? 'set HEADGATE_AUTH_URL' : 'run headgate login with --auth-url';
