import { hostname } from 'node:os';
import type { FastifyInstance } from 'fastify';
import type { Identity } from '../auth/identity.ts';
import type { Settings } from '../config/settings.ts';
import type { Clock } from '../lib/clock.ts';
import type { Ids } from '../lib/ids.ts';
import type { Logger } from '../lib/logger.ts';
import type { ProcessMetrics } from '../lib/metrics.ts';
import type { TlsServers } from '../lib/tls-servers.ts';
import { createTrustedProxies } from '../lib/trusted-proxies.ts';
import { createBaseServer, type IsMisdirected, refuseUnreadable } from './base-server.ts';
import { createCallLimits } from './call-limits.ts';
import { createErrorWriter } from './errors.ts';
import { addNotFound, type Forwarding } from './hooks.ts';
import { createHostRule } from './hosts.ts';
import { addIngest, INGEST_PREFIX, ingestOperations } from './ingest/ingest.ts';
import { addJwks, JWKS_ROUTE } from './jwks.ts';
import { addManagement, type ManagementOptions } from './management.ts';
import { addMetrics, countRequests, METRICS_ROUTE, type MetricsOptions } from './metrics/endpoint.ts';
import { describeBuild, describeProcess } from './metrics/installation.ts';
import { addDocuments, DOCUMENT_ROUTES } from './openapi/endpoint.ts';
import { addPage, PAGE_ROUTES } from './page.ts';
import { addSession, SESSION_PREFIX, type SessionOptions } from './session.ts';
import { API_PREFIX } from './v1/index.ts';

export interface ServerOptions extends Omit<ManagementOptions & SessionOptions, 'limits' | 'forwarding'> {
  readonly identity: Pick<Identity, 'login' | 'keys'>;
  readonly forwarding: Omit<Forwarding, 'tenantOf' | 'hosts'>;
  /** Settings of the installation. */
  readonly settings: () => Pick<Settings, 'api' | 'instance' | 'metrics' | 'hosted'>;
  /** Served at /metrics. */
  readonly metrics: ProcessMetrics;
  readonly isWorkspaceHost: MetricsOptions['isWorkspaceHost'];
  /** Omitted where all hosts are one. */
  readonly isMisdirected?: IsMisdirected;
  /** Creates the HTTPS server; without it the server speaks HTTP. */
  readonly createListener?: TlsServers['create'] | undefined;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly logger: Logger;
}

const MOST_BODY_BYTES = 5 * 1024 * 1024;

/** The management API, the ingest endpoints and the page on one server, not yet listening. */
export async function createServer(options: ServerOptions): Promise<FastifyInstance> {
  const { clock, ids, logger, metrics, settings, createListener } = options;
  const proxies = createTrustedProxies(() => settings().api.trustedProxies);
  const hosts = createHostRule({ settings, hostname: hostname(), clock, logger });
  const server = createBaseServer({
    hosts,
    requestTimeoutMs: settings().api.requestTimeout.ms,
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
  addDocuments(server);
  addJwks(server, options.identity.keys);
  addNotFound(server, '', [
    ...PAGE_ROUTES,
    METRICS_ROUTE,
    ...DOCUMENT_ROUTES,
    JWKS_ROUTE,
    ...ingestOperations,
  ]);
  const limits = createCallLimits({
    clock,
    size: () => settings().api.rateLimit,
  });
  const { tenantOf } = options;
  const forwarding = { ...options.forwarding, tenantOf, hosts };
  const inside = { ...options, forwarding, limits };
  await server.register(scope => addIngest(scope, inside), { prefix: INGEST_PREFIX });
  await server.register(scope => addSession(scope, inside), { prefix: SESSION_PREFIX });
  await server.register(scope => addManagement(scope, inside), { prefix: API_PREFIX });
  await server.ready();
  return server;
}
