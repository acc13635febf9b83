import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import * as z from 'zod';
import type { Audit } from '../../auth/audit.ts';
import { assertAskedFor, assertManages, type Manager } from '../../auth/managers.ts';
import { childOf } from '../../config/schema-walk.ts';
import { AppError } from '../../lib/errors.ts';
import { audited } from '../../resources/audited.ts';
import { invalidInput } from '../../resources/verb.ts';
import { authorizationOf } from '../authorization.ts';
import { readJsonBodies } from '../bodies.ts';
import type { CallLimits } from '../call-limits.ts';
import type { ErrorWriter } from '../errors.ts';
import { addNotFound } from '../not-found.ts';
import { auditOperations } from './audit.ts';
import { credentialOperations } from './credentials.ts';
import { memberOperations } from './members.ts';
import {
  type ManagementOperation,
  ORGANIZATIONS_PREFIX,
  type Organizations,
  permissionOf,
} from './operation.ts';
import { workspaceOperations } from './workspaces.ts';

const BELOW = '/:org';
/** Roles in very many workspaces. */
const MOST_BYTES = 256 * 1024;

export interface OrganizationsOptions {
  readonly organizations: Organizations;
  /**
   * Who calls, as far as the organization knows them. Throws `unauthenticated`, and `not-found` for whoever has no part
   * in it.
   */
  readonly managerOf: (
    organization: string,
    authorization: string | undefined,
    address: string,
  ) => Promise<Manager>;
  readonly cloudDomain: () => string;
  /** Of an organization. */
  readonly audit: (organization: string) => Pick<Audit, 'record' | 'refused'>;
  readonly limits: CallLimits;
  readonly writeError: ErrorWriter;
}

/** The table of the management plane; `cloudDomain` is what workspaces are served below. */
export const managementOperations = (cloudDomain: () => string): readonly ManagementOperation[] => [
  ...credentialOperations,
  ...memberOperations,
  ...workspaceOperations(cloudDomain),
  ...auditOperations,
];

/** `/v1/organizations`: what owners and admins manage, in the words of the family's management plane. */
export async function addOrganizations(scope: FastifyInstance, options: OrganizationsOptions): Promise<void> {
  const { organizations, managerOf, audit, limits } = options;
  const operations = managementOperations(options.cloudDomain);
  const managers = new WeakMap<object, Manager>();
  readJsonBodies(scope);
  scope.setErrorHandler(options.writeError);

  scope.addHook('onRequest', async request => {
    try {
      const manager = await managerOf(organizationIn(request), authorizationOf(request), request.ip);
      limits.actor(manager.id);
      managers.set(request, manager);
    } catch (error) {
      if (error instanceof AppError && error.code === 'unauthenticated') limits.stranger(request.ip);
      throw error;
    }
  });

  async function run(operation: ManagementOperation, request: FastifyRequest, reply: FastifyReply) {
    const manager = managers.get(request);
    if (manager === undefined) throw new AppError('unauthenticated', 'A token is needed');
    const { query, body } = request;
    const permission = permissionOf(operation);
    const [id, secret] = [placeIn(request, 'id'), placeIn(request, 'secret')];
    const answer = await audited(
      {
        permission,
        actor: manager.name,
        origin: { address: request.ip, requestId: request.id },
        called: operation,
        raw: { ...(id !== '' && { id }), body },
        audit: audit(manager.organization),
      },
      async () => {
        assertManages(manager);
        assertAskedFor(manager, permission);
        const call = { manager, organizations, id, secret, query, body };
        return operation.run(call).catch((error: unknown) => {
          throw error instanceof z.ZodError ? invalidInput(error) : error;
        });
      },
    );
    return reply.code(operation.status).send(answer);
  }

  for (const operation of operations)
    scope.route({
      method: operation.method,
      bodyLimit: MOST_BYTES,
      url: BELOW + operation.path,
      handler: (request, reply) => run(operation, request, reply),
    });
  addNotFound(
    scope,
    ORGANIZATIONS_PREFIX,
    operations.map(({ method, path }) => ({ method, path: BELOW + path })),
  );
}

/** Of a path that no operation has, too: whoever has no part in the organization learns nothing else. */
function organizationIn(request: FastifyRequest): string {
  if (!request.is404) return placeIn(request, 'org');
  return request.url.slice(ORGANIZATIONS_PREFIX.length + 1).split(/[/?]/, 1)[0] ?? '';
}

function placeIn({ params }: FastifyRequest, name: string): string {
  const place = childOf(params, name);
  return typeof place === 'string' ? place : '';
}
