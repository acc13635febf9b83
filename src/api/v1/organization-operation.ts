import type * as z from 'zod';
import type { Credentials } from '../../auth/organizations/credentials.ts';
import type { Members } from '../../auth/organizations/members.ts';
import type { OrganizationActor } from '../../auth/organizations/organization-actor.ts';
import type { Workspaces } from '../../auth/organizations/workspaces.ts';
import { type Permission, RESOURCES, type Resource } from '../../auth/permissions.ts';
import type { AuditStore } from '../../storage/stores/audit.ts';
import type { Method } from '../operation.ts';

export const ORGANIZATIONS_PREFIX = '/v1/organizations';

/** What the management of organizations works on. */
export interface Organizations {
  readonly credentials: Credentials;
  readonly members: Members;
  readonly workspaces: Workspaces;
  /** What was done and refused in the organization as a whole. */
  readonly auditOf: (organization: string) => AuditStore;
}

export interface OrganizationCall<Body> {
  readonly manager: OrganizationActor;
  readonly organizations: Organizations;
  /** The places in the path, where there are any. */
  readonly id: string;
  readonly secret: string;
  readonly query: unknown;
  readonly body: Body;
}

/** Something that can be done to an organization, as the family's management plane words it. */
export interface OrganizationOperation<Id extends `${Resource}.${string}` = `${Resource}.${string}`> {
  /** `noun.verb`, for the audit and the command line; the noun is what a permission is for. */
  readonly id: Id;
  readonly method: Method;
  /** With `:name` places, below `/v1/organizations/:org`. */
  readonly path: string;
  readonly status: 200 | 201 | 204;
  /** Of what makes something: the member of its answer that names what was made. */
  readonly createdKey?: string;
  /** Reads the body and acts. Throws `z.ZodError` for a wrong body. */
  run(call: OrganizationCall<unknown>): Promise<object | undefined>;
}

/** What the token of whoever calls it must have been asked for. */
export function permissionOf({ id, method }: Pick<OrganizationOperation, 'id' | 'method'>): Permission {
  const noun = RESOURCES.find(resource => id.startsWith(`${resource}.`));
  if (noun === undefined) throw new Error(`no permission is for '${id}'`);
  return `${method === 'GET' ? 'read' : 'update'}:${noun}`;
}

type OperationHead<Id extends OrganizationOperation['id']> = Pick<
  OrganizationOperation<Id>,
  'id' | 'method' | 'path' | 'status' | 'createdKey'
>;

/** An operation that takes no body. */
export const operation = <Id extends OrganizationOperation['id']>(
  facts: OperationHead<Id>,
  run: (call: OrganizationCall<unknown>) => Promise<object | undefined>,
): OrganizationOperation<Id> => ({ ...facts, run });

/** An operation and what its body must be. */
export const operationWithBody = <Id extends OrganizationOperation['id'], Body>(
  facts: OperationHead<Id>,
  body: z.ZodType<Body>,
  run: (call: OrganizationCall<Body>) => Promise<object | undefined>,
): OrganizationOperation<Id> => ({
  ...facts,
  run: async call => run({ ...call, body: body.parse(call.body) }),
});
