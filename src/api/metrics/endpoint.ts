import type { FastifyInstance, FastifyRequest } from 'fastify';
import { isLoopback } from '../../lib/addresses.ts';
import { digestOf, isSameDigest } from '../../lib/digest.ts';
import { AppError } from '../../lib/errors.ts';
import type { Metrics, ProcessMetrics } from '../../lib/metrics.ts';
import type { Secret } from '../../lib/secret.ts';
import { bearerToken } from '../hooks.ts';

export const METRICS_ROUTE = { method: 'GET', path: '/metrics' } as const;

export interface MetricsOptions {
  readonly metrics: ProcessMetrics;
  readonly token: () => Secret | undefined;
  /** A hosted installation requires the token wherever a request comes from. */
  readonly isHosted: boolean;
  /** Hosts of workspaces serve no metrics. */
  readonly isWorkspaceHost: (request: Pick<FastifyRequest, 'host'>) => boolean;
}

/** Serves the metrics of this installation as Prometheus text. */
export function addMetrics(server: FastifyInstance, options: MetricsOptions): void {
  const { metrics, token, isHosted, isWorkspaceHost } = options;
  server.get(METRICS_ROUTE.path, async (request, reply) => {
    if (isWorkspaceHost(request)) throw new AppError('not-found', 'There is nothing at this path');
    if (isHosted || !isOpenTo(request, token())) assertPresents(request, token());
    return reply.type(metrics.contentType).send(await metrics.text());
  });
}

/** Open to this machine itself. A proxy here sends requests of others, which carry a forwarding header. */
function isOpenTo(request: FastifyRequest, token: Secret | undefined): boolean {
  const isForwarded = 'x-forwarded-for' in request.headers || 'forwarded' in request.headers;
  return token === undefined && isLoopback(request.ip) && !isForwarded;
}

function assertPresents(request: FastifyRequest, token: Secret | undefined): void {
  const presented = bearerToken(request)?.reveal();
  if (token === undefined || presented === undefined || !isSame(presented, token.reveal()))
    throw new AppError('unauthenticated', 'Metrics need the token of metrics.token as Authorization: Bearer');
}

const isSame = (presented: string, token: string): boolean =>
  isSameDigest(digestOf(presented), digestOf(token));

/** In seconds. */
const BUCKETS = [0.005, 0.025, 0.1, 0.25, 1, 5, 30];
/** One label for all paths without a route. */
const UNKNOWN = '(unknown)';

/** Counts requests by the route that answered them, never by their path. */
export function countRequests(server: FastifyInstance, metrics: Metrics): void {
  const seconds = metrics.histogram({
    name: 'headgate_http_request_duration_seconds',
    help: 'How long requests took, by the route that answered them.',
    labels: ['method', 'route', 'status'],
    buckets: BUCKETS,
  });
  server.addHook('onResponse', (request, reply, done) => {
    const route = request.routeOptions.url ?? UNKNOWN;
    const method = route === UNKNOWN ? UNKNOWN : request.method;
    seconds({ method, route, status: String(reply.statusCode) }, reply.elapsedTime / 1000);
    done();
  });
}
