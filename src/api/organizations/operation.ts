import type * as z from 'zod';
import type { Credentials } from '../../auth/credentials.ts';
import type { Manager } from '../../auth/managers.ts';
import type { Members } from '../../auth/members.ts';
import { type Permission, RESOURCES, type Resource } from '../../auth/permissions.ts';
import type { Workspaces } from '../../auth/workspaces.ts';
import type { AuditStore } from '../../storage/storage.ts';
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

export interface ManagementCall<Body> {
  readonly manager: Manager;
  readonly organizations: Organizations;
  /** The places in the path, where there are any. */
  readonly id: string;
  readonly secret: string;
  readonly query: unknown;
  readonly body: Body;
}

/** Something that can be done to an organization, as the family's management plane words it. */
export interface ManagementOperation<Id extends `${Resource}.${string}` = `${Resource}.${string}`> {
  /** `noun.verb`, for the audit and the command line; the noun is what a permission is for. */
  readonly id: Id;
  readonly method: Method;
  /** With `:name` places, below `/v1/organizations/:org`. */
  readonly path: string;
  readonly status: 200 | 201 | 204;
  /** Of what makes something: the member of its answer that names what was made. */
  readonly made?: string;
  /** Reads the body and acts. Throws `z.ZodError` for a wrong body. */
  run(call: ManagementCall<unknown>): Promise<object | undefined>;
}

/** What the token of whoever calls it must have been asked for. */
export function permissionOf({ id, method }: Pick<ManagementOperation, 'id' | 'method'>): Permission {
  const noun = RESOURCES.find(resource => id.startsWith(`${resource}.`));
  if (noun === undefined) throw new Error(`no permission is for '${id}'`);
  return `${method === 'GET' ? 'read' : 'update'}:${noun}`;
}

type Facts<Id extends ManagementOperation['id']> = Pick<
  ManagementOperation<Id>,
  'id' | 'method' | 'path' | 'status' | 'made'
>;

/** An operation that takes no body. */
export const operation = <Id extends ManagementOperation['id']>(
  facts: Facts<Id>,
  run: (call: ManagementCall<unknown>) => Promise<object | undefined>,
): ManagementOperation<Id> => ({ ...facts, run });

/** An operation and what its body must be. */
export const taking = <Id extends ManagementOperation['id'], Body>(
  facts: Facts<Id>,
  body: z.ZodType<Body>,
  run: (call: ManagementCall<Body>) => Promise<object | undefined>,
): ManagementOperation<Id> => ({
  ...facts,
  run: async call => run({ ...call, body: body.parse(call.body) }),
});
