import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { OrganizationActor } from '../../auth/actor.ts';
import { AppError } from '../../lib/errors.ts';
import type { OrganizationContext } from '../../resources/organization-verb.ts';
import type { CallLimits } from '../call-limits.ts';
import type { ErrorWriter } from '../errors.ts';
import { addNotFound, authorizationOf, readJsonBodies } from '../hooks.ts';
import { auditOperations } from './audit.ts';
import { credentialOperations } from './credentials.ts';
import { memberOperations } from './members.ts';
import { ORGANIZATIONS_PREFIX, type OrganizationOperation } from './organization-operation.ts';
import { workspaceOperations } from './workspaces.ts';

const BELOW = '/:org';
/** Enough for roles in very many workspaces. */
const MOST_BYTES = 256 * 1024;

export interface OrganizationRoutesOptions {
  readonly contextOf: (organization: string) => OrganizationContext;
  /**
   * Throws `unauthenticated`, and `not-found` for a caller without a role in the organization, who must not learn that
   * it exists.
   */
  readonly authenticate: (
    organization: string,
    authorization: string | undefined,
    address: string,
  ) => Promise<OrganizationActor>;
  readonly cloudDomain: () => string;
  readonly limits: CallLimits;
  readonly writeError: ErrorWriter;
}

/** The table of the management plane; `cloudDomain` is the domain below which workspaces are served. */
export const organizationOperations = (cloudDomain: () => string): readonly OrganizationOperation[] => [
  ...credentialOperations,
  ...memberOperations,
  ...workspaceOperations(cloudDomain),
  ...auditOperations,
];

/** `/v1/organizations`: how owners and admins manage an organization, compatible with Cribl's management plane. */
export async function addOrganizationRoutes(
  scope: FastifyInstance,
  options: OrganizationRoutesOptions,
): Promise<void> {
  const { contextOf, authenticate, limits } = options;
  const operations = organizationOperations(options.cloudDomain);
  const actors = new WeakMap<FastifyRequest, OrganizationActor>();
  readJsonBodies(scope);
  scope.setErrorHandler(options.writeError);

  scope.addHook('onRequest', async request => {
    try {
      const actor = await authenticate(organizationOf(request), authorizationOf(request), request.ip);
      limits.countActor(actor.id);
      actors.set(request, actor);
    } catch (error) {
      if (error instanceof AppError && error.code === 'unauthenticated')
        limits.countUnauthenticated(request.ip);
      throw error;
    }
  });

  async function run(operation: OrganizationOperation, request: FastifyRequest, reply: FastifyReply) {
    const actor = actors.get(request);
    if (actor === undefined) throw new AppError('unauthenticated', 'A token is needed');
    const call = {
      actor,
      context: contextOf(actor.organization),
      origin: { address: request.ip, requestId: request.id },
    };
    const input = { params: valuesOf(request.params), query: valuesOf(request.query), body: request.body };
    return reply.code(operation.status).send(await operation.run(call, input));
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

/** Reads it from the path of an unknown operation too: a caller without a role in the organization learns nothing else. */
function organizationOf(request: FastifyRequest): string {
  if (request.is404) return request.url.slice(ORGANIZATIONS_PREFIX.length + 1).split(/[/?]/, 1)[0] ?? '';
  const { org } = valuesOf(request.params);
  return typeof org === 'string' ? org : '';
}

const valuesOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? { ...value } : {};
