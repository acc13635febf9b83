import type { FastifyInstance } from 'fastify';
import type { Identity } from '../auth/identity.ts';
import type { Settings } from '../config/settings.ts';
import type { Clock } from '../lib/clock.ts';
import type { Ids } from '../lib/ids.ts';
import type { Logger } from '../lib/logger.ts';
import type { AllMetrics } from '../lib/metrics.ts';
import type { TlsServers } from '../lib/tls-servers.ts';
import { trustedProxies } from '../lib/trusted-proxies.ts';
import { createBaseServer, type IsMisdirected } from './base-server.ts';
import { createCallLimits } from './call-limits.ts';
import { createErrorWriter } from './errors.ts';
import type { Forwarding } from './forward.ts';
import { addIngest, INGEST_PREFIX, ingestOperations } from './ingest.ts';
import { addJwks, JWKS_ROUTE } from './jwks.ts';
import { addManagement, type ManagementOptions } from './management.ts';
import { describeBuild } from './metrics/installation.ts';
import { describeProcess } from './metrics/process.ts';
import { countRequests } from './metrics/requests.ts';
import { addMetrics, METRICS_ROUTE, type MetricsOptions } from './metrics/served.ts';
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
  /** What is told at /metrics. */
  readonly metrics: AllMetrics;
  readonly isToTenant: MetricsOptions['isToTenant'];
  /** Left out where all hosts are one. */
  readonly isMisdirected?: IsMisdirected;
  /** Makes what speaks https; without it http is spoken. */
  readonly createListener?: TlsServers['create'] | undefined;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly logger: Logger;
}

const MOST_BODY_BYTES = 5 * 1024 * 1024;

/** The management API, the ingest doors and the page on one server, not yet listening. */
export async function createServer(options: ServerOptions): Promise<FastifyInstance> {
  const { clock, ids, logger, metrics, settings, createListener } = options;
  const proxies = trustedProxies(() => settings().api.trustedProxies);
  const server = createBaseServer({
    ...{ proxies, createListener, bodyLimit: MOST_BODY_BYTES, refuseUnreadable, ids, logger },
    isMisdirected: options.isMisdirected,
    headers: () => settings().api.headers,
  });
  server.setErrorHandler(createErrorWriter(logger, clock));
  countRequests(server, metrics);
  addPage(server);
  describeBuild(metrics);
  const endMeasuring = describeProcess(metrics, options.health().startTime);
  server.addHook('onClose', async () => endMeasuring());
  addMetrics(server, { ...options, token: () => settings().metrics.token });
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
