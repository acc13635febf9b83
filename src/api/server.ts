import type { IncomingMessage } from 'node:http';
import { type FastifyInstance, fastify } from 'fastify';
import type { Identity } from '../auth/identity.ts';
import type { Settings } from '../config/settings.ts';
import type { Clock } from '../lib/clock.ts';
import type { Ids } from '../lib/ids.ts';
import type { Logger } from '../lib/logger.ts';
import type { Metrics } from '../lib/metrics.ts';
import type { TlsServers } from '../lib/tls-servers.ts';
import { type TrustedProxies, trustedProxies } from '../lib/trusted-proxies.ts';
import type { House } from '../resources/verb.ts';
import { createCallLimits } from './call-limits.ts';
import { createErrorWriter } from './errors.ts';
import type { Forwarding } from './forward.ts';
import { addIngest, INGEST_PREFIX, ingestOperations } from './ingest.ts';
import { addJwks, JWKS_ROUTE } from './jwks.ts';
import { addManagement, type ManagementOptions } from './management.ts';
import { describeBuild, describeInstallation } from './metrics/installation.ts';
import { describeProcess } from './metrics/process.ts';
import { countRequests } from './metrics/requests.ts';
import { addMetrics, METRICS_ROUTE } from './metrics/served.ts';
import { addNotFound } from './not-found.ts';
import { addOpenApi, OPENAPI_ROUTE } from './openapi/served.ts';
import { PREFIX } from './operations.ts';
import { addPage, PAGE_ROUTES } from './page.ts';
import { addSession, SESSION_PREFIX, type SessionOptions } from './session.ts';
import { refuseUnreadable } from './unreadable.ts';

export interface ServerOptions extends Omit<ManagementOptions & SessionOptions, 'limits' | 'forwarding'> {
  readonly identity: Pick<Identity, 'login' | 'keys'>;
  readonly forwarding: Omit<Forwarding, 'tenantOf'>;
  /** Those of the installation. */
  readonly settings: () => Pick<Settings, 'api' | 'instance' | 'metrics'>;
  /** The workspace that /metrics tells of; undefined where there are many of others. */
  readonly described: House | undefined;
  /** What is told of this server at /metrics. */
  readonly metrics: Metrics;
  /** Makes what speaks https; without it http is spoken. */
  readonly createListener?: TlsServers['create'] | undefined;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly logger: Logger;
}

const MOST_BODY_BYTES = 5 * 1024 * 1024;
const REQUEST_TIMEOUT_MS = 30_000;
/** No path can be longer than Node's limit for all headers, so ids have only the limits of their verbs. */
const LONGEST_PARAMETER = 16 * 1024;
const GIVEN_REQUEST_ID = /^[a-zA-Z0-9_-]{1,64}$/;

/** The management API, the ingest doors and the page on one server, not yet listening. */
export async function createServer(options: ServerOptions): Promise<FastifyInstance> {
  const { clock, ids, logger, metrics, settings, createListener } = options;
  const proxies = trustedProxies(() => settings().api.trustedProxies);
  const server = fastify({
    trustProxy: proxies.has,
    ...(createListener && { serverFactory: createListener }),
    logger: false,
    bodyLimit: MOST_BODY_BYTES,
    requestTimeout: REQUEST_TIMEOUT_MS,
    routerOptions: { maxParamLength: LONGEST_PARAMETER },
    rewriteUrl: request => decodable(request.url ?? '/'),
    clientErrorHandler: (error, socket) => refuseUnreadable(error, socket, ids),
    forceCloseConnections: 'idle',
    // Requests that come in on open connections during the stop are answered like all others.
    return503OnClosing: false,
    genReqId: request => {
      const given = request.headers['x-request-id'];
      return typeof given === 'string' && GIVEN_REQUEST_ID.test(given) ? given : ids.next();
    },
  });
  server.removeAllContentTypeParsers();
  server.setErrorHandler(createErrorWriter(logger, clock));
  // Hooks of every request that wait for nothing are told by `done`: a promise for each would cost more than they do.
  server.addHook('onRequest', (request, reply, done) => {
    believe(request.raw, proxies);
    reply.headers(settings().api.headers);
    reply.header('x-request-id', request.id);
    reply.header('x-content-type-options', 'nosniff');
    reply.header('referrer-policy', 'no-referrer');
    reply.header('cache-control', 'no-store');
    done();
  });
  server.addHook('onResponse', (request, reply, done) => {
    logger.debug(
      {
        requestId: request.id,
        method: request.method,
        path: request.routeOptions.url ?? '(unknown)',
        status: reply.statusCode,
        ms: Math.round(reply.elapsedTime),
      },
      'request',
    );
    done();
  });
  countRequests(server, metrics);
  addPage(server);
  describeBuild(metrics);
  if (options.described !== undefined) describeInstallation(metrics, options.described);
  const endMeasuring = describeProcess(metrics, options.health().startTime);
  server.addHook('onClose', async () => endMeasuring());
  addMetrics(server, metrics, () => settings().metrics.token);
  addOpenApi(server);
  addJwks(server, options.identity.keys);
  addNotFound(server, '', [...PAGE_ROUTES, METRICS_ROUTE, OPENAPI_ROUTE, JWKS_ROUTE, ...ingestOperations]);
  const limits = createCallLimits({
    clock,
    size: () => settings().api.rateLimit,
  });
  const { tenantOf } = options;
  const forwarding = { ...options.forwarding, tenantOf };
  const inside = { ...options, forwarding, limits };
  await server.register(scope => addIngest(scope, inside), { prefix: INGEST_PREFIX });
  await server.register(scope => addSession(scope, inside), { prefix: SESSION_PREFIX });
  await server.register(scope => addManagement(scope, inside), { prefix: PREFIX });
  await server.ready();
  return server;
}

/** Leaves in `X-Forwarded-For` of a trusted proxy whom the request is from, which `request.ip` is then everywhere. */
function believe({ headers, socket }: IncomingMessage, proxies: TrustedProxies): void {
  const forwardedFor = headers['x-forwarded-for'];
  const connected = socket.remoteAddress ?? '';
  if (forwardedFor === undefined || !proxies.has(connected)) return;
  headers['x-forwarded-for'] = proxies.callerOf(connected, String(forwardedFor));
}

/** Escapes that stand for no text are taken literally: the router would refuse them before a token was asked for. */
function decodable(url: string): string {
  const [path = '', ...query] = url.split('?');
  if (!path.includes('%')) return url;
  try {
    decodeURIComponent(path);
    return url;
  } catch {
    return [path.replaceAll('%', '%25'), ...query].join('?');
  }
}
