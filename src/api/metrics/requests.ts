import type { FastifyInstance } from 'fastify';
import type { Metrics } from '../../lib/metrics.ts';

/** Seconds. */
const BUCKETS = [0.005, 0.025, 0.1, 0.25, 1, 5, 30];
/** Paths that nothing answers to, however many callers make up. */
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
