import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Actor } from '../auth/actor.ts';
import type { Identity } from '../auth/identity.ts';
import { didYouMean } from '../config/problems.ts';
import { childOf } from '../config/schema-walk.ts';
import type { Clock } from '../lib/clock.ts';
import { AppError } from '../lib/errors.ts';
import type { CallLimits } from './call-limits.ts';
import { addNotFound, authorizationOf, type Forwarding, forwardToLeader, readJsonBodies } from './hooks.ts';
import type { Route } from './route.ts';
import type { WorkspaceOf } from './served-workspace.ts';
import { addLogin, loginOperation } from './v1/auth.ts';
import { addHealth, healthOperation, type ServerHealth } from './v1/health.ts';
import { API_PREFIX, notOffered, servedRoutes } from './v1/index.ts';
import { addStream, streamOperation } from './v1/stream.ts';

export interface ManagementOptions {
  readonly clock: Clock;
  readonly forwarding: Forwarding;
  readonly tenantOf: WorkspaceOf;
  readonly identity: Pick<Identity, 'login'>;
  readonly health: () => ServerHealth;
  readonly limits: CallLimits;
  /** Workspaces of many organizations are served here, and tokens are issued elsewhere. */
  readonly isHosted: boolean;
}

/** `/api/v1`. The token is checked before the path. */
export async function addManagement(scope: FastifyInstance, options: ManagementOptions): Promise<void> {
  const { tenantOf, isHosted } = options;
  const publicOperations = isHosted ? [healthOperation] : [loginOperation, healthOperation];
  const publicPaths = new Set(publicOperations.map(row => API_PREFIX + row.path));
  const rows = servedRoutes.filter(row => !(isHosted && row.isOfInstallation));
  const actors = new WeakMap<FastifyRequest, Actor>();
  readJsonBodies(scope, {
    onBody: (request, bytes) => tenantOf(request).limits.chargeRequest(bytes),
  });

  async function actorOf(request: FastifyRequest): Promise<Actor> {
    const { authenticate, context } = tenantOf(request);
    try {
      return await authenticate(authorizationOf(request), request.ip);
    } catch (error) {
      if (error instanceof AppError && error.code === 'unauthenticated') {
        context.audit.refused({
          actor: '',
          action: 'auth.token',
          reason: error.message,
          address: request.ip,
          requestId: request.id,
        });
        options.limits.countUnauthenticated(request.ip);
      }
      throw error;
    }
  }

  scope.addHook('onRequest', async request => {
    if (!request.is404 && publicPaths.has(request.routeOptions.url ?? '')) return;
    const actor = await actorOf(request);
    options.limits.countActor(actor.id);
    tenantOf(request).limits.countRequest();
    actors.set(request, actor);
  });
  forwardToLeader(scope, options.forwarding);
  addHealth(scope, options.health);
  if (!isHosted) addLogin(scope, options.identity);
  addStream(scope, {
    tenantOf,
    clock: options.clock,
    actorOf: request => actors.get(request),
  });
  for (const route of rows)
    scope.route({
      method: route.method,
      url: route.path,
      config: { isLive: route.isLive },
      handler: async (request, reply) => {
        const actor = actors.get(request);
        if (actor === undefined) throw new AppError('unauthenticated', 'A token is needed');
        const { context, limits } = tenantOf(request);
        const call = {
          actor,
          context,
          countChange: () => limits.countChange(),
          origin: { address: request.ip, requestId: request.id },
          group: groupOf(request),
        };
        const ignored = unknownQuery(route, request);
        if (ignored !== undefined) void reply.header('x-headgate-ignored-query', ignored);
        const { body, etag } = await route.run(call, inputOf(request));
        if (etag !== undefined) void reply.header('etag', etag);
        return body;
      },
    });
  addNotFound(scope, API_PREFIX, [...publicOperations, streamOperation, ...rows], notOffered);
}

function groupOf(request: FastifyRequest): string | undefined {
  const group = childOf(request.params, 'group');
  return typeof group === 'string' ? group : undefined;
}

/** Paths that are Headgate's alone: no client of others asks for them with parameters of its own. */
const OWN =
  /^(?:\/m\/:group)?\/(?:incidents|silences|inhibitions|deliveries|kept-settings|explain|report|suggest|audit|system\/(?:config|engines|ingest-tokens))(?:\/|$)/;

/** Names that a header shows at most. */
const MOST_NAMES = 10;
const LONGEST_NAME = 100;

/**
 * The names of the query that the route does not know, for a header; undefined when there are none. Throws
 * `invalid-request`, with the name that may be meant, where nobody else's client asks: an answer without the filter would
 * be taken for one with it.
 */
function unknownQuery({ path, query }: Route, request: FastifyRequest): string | undefined {
  const known = Object.keys(query);
  const unknown = Object.keys(asObject(request.query)).filter(name => !known.includes(name));
  if (unknown.length === 0) return undefined;
  const names = unknown.slice(0, MOST_NAMES).map(name => name.slice(0, LONGEST_NAME));
  if (!OWN.test(path))
    return names.map(name => encodeURIComponent(name.replace(/\p{Surrogate}/gu, '\uFFFD'))).join(', ');
  const problems = names.map(name => ({
    path: name,
    message: `is no parameter here${didYouMean(name, known)}`,
  }));
  const message = problems.map(problem => `${problem.path}: ${problem.message}`)[0] ?? '';
  throw new AppError('invalid-request', message, { problems });
}

/** The query and the parameters of the path, which win, and of a write its body and `If-Match`. */
function inputOf(request: FastifyRequest): object {
  const parameters = { ...asObject(request.query), ...asObject(request.params) };
  if (request.method === 'GET' || request.method === 'HEAD') return parameters;
  return { ...parameters, body: request.body, ifMatch: request.headers['if-match'] };
}

const asObject = (value: unknown): object => (typeof value === 'object' && value !== null ? value : {});
