import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import * as z from 'zod';
import type { Audit } from '../../auth/audit.ts';
import {
  assertAdministersOrganization,
  assertTokenAllows,
  type OrganizationActor,
} from '../../auth/organizations/organization-actor.ts';
import { childOf } from '../../config/schema-walk.ts';
import { AppError } from '../../lib/errors.ts';
import { withAudit } from '../../resources/audited.ts';
import { invalidInput } from '../../resources/verb.ts';
import type { CallLimits } from '../call-limits.ts';
import type { ErrorWriter } from '../errors.ts';
import { addNotFound, authorizationOf, readJsonBodies } from '../hooks.ts';
import { auditOperations } from './audit.ts';
import { credentialOperations } from './credentials.ts';
import { memberOperations } from './members.ts';
import {
  ORGANIZATIONS_PREFIX,
  type OrganizationOperation,
  type Organizations,
  permissionOf,
} from './organization-operation.ts';
import { workspaceOperations } from './workspaces.ts';

const BELOW = '/:org';
/** Roles in very many workspaces. */
const MOST_BYTES = 256 * 1024;

export interface OrganizationRoutesOptions {
  readonly organizations: Organizations;
  /**
   * Who calls, as far as the organization knows them. Throws `unauthenticated`, and `not-found` for whoever has no part
   * in it.
   */
  readonly managerOf: (
    organization: string,
    authorization: string | undefined,
    address: string,
  ) => Promise<OrganizationActor>;
  readonly cloudDomain: () => string;
  /** Of an organization. */
  readonly audit: (organization: string) => Pick<Audit, 'record' | 'refused'>;
  readonly limits: CallLimits;
  readonly writeError: ErrorWriter;
}

/** The table of the management plane; `cloudDomain` is what workspaces are served below. */
export const organizationOperations = (cloudDomain: () => string): readonly OrganizationOperation[] => [
  ...credentialOperations,
  ...memberOperations,
  ...workspaceOperations(cloudDomain),
  ...auditOperations,
];

/** `/v1/organizations`: what owners and admins manage, in the words of the family's management plane. */
export async function addOrganizationRoutes(
  scope: FastifyInstance,
  options: OrganizationRoutesOptions,
): Promise<void> {
  const { organizations, managerOf, audit, limits } = options;
  const operations = organizationOperations(options.cloudDomain);
  const managers = new WeakMap<object, OrganizationActor>();
  readJsonBodies(scope);
  scope.setErrorHandler(options.writeError);

  scope.addHook('onRequest', async request => {
    try {
      const manager = await managerOf(organizationOf(request), authorizationOf(request), request.ip);
      limits.countActor(manager.id);
      managers.set(request, manager);
    } catch (error) {
      if (error instanceof AppError && error.code === 'unauthenticated')
        limits.countUnauthenticated(request.ip);
      throw error;
    }
  });

  async function run(operation: OrganizationOperation, request: FastifyRequest, reply: FastifyReply) {
    const manager = managers.get(request);
    if (manager === undefined) throw new AppError('unauthenticated', 'A token is needed');
    const { query, body } = request;
    const permission = permissionOf(operation);
    const [id, secret] = [parameterOf(request, 'id'), parameterOf(request, 'secret')];
    const answer = await withAudit(
      {
        permission,
        actor: manager.name,
        origin: { address: request.ip, requestId: request.id },
        called: operation,
        raw: { ...(id !== '' && { id }), body },
        audit: audit(manager.organization),
      },
      async () => {
        assertAdministersOrganization(manager);
        assertTokenAllows(manager, permission);
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
function organizationOf(request: FastifyRequest): string {
  if (!request.is404) return parameterOf(request, 'org');
  return request.url.slice(ORGANIZATIONS_PREFIX.length + 1).split(/[/?]/, 1)[0] ?? '';
}

function parameterOf({ params }: FastifyRequest, name: string): string {
  const place = childOf(params, name);
  return typeof place === 'string' ? place : '';
}
