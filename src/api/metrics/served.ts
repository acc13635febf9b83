import type { FastifyInstance, FastifyRequest } from 'fastify';
import { digestOf, isSameDigest } from '../../lib/digest.ts';
import { AppError } from '../../lib/errors.ts';
import { isLoopback } from '../../lib/loopback.ts';
import type { Metrics } from '../../lib/metrics.ts';
import type { Secret } from '../../lib/secret.ts';
import { operatorsToken } from '../authorization.ts';

export const METRICS_ROUTE = { method: 'GET', path: '/metrics' } as const;

/** How this installation is, as Prometheus text. */
export function addMetrics(server: FastifyInstance, metrics: Metrics, token: () => Secret | undefined): void {
  server.get(METRICS_ROUTE.path, async (request, reply) => {
    assertMayRead(request, token());
    return reply.type(metrics.contentType).send(await metrics.text());
  });
}

/** Open to this machine itself; a proxy's requests come from here as well and carry whom they are for. */
function assertMayRead(request: FastifyRequest, token: Secret | undefined): void {
  const isForwarded = 'x-forwarded-for' in request.headers || 'forwarded' in request.headers;
  if (token === undefined && isLoopback(request.ip) && !isForwarded) return;
  const shown = operatorsToken(request)?.reveal();
  if (token === undefined || shown === undefined || !isSame(shown, token.reveal()))
    throw new AppError('unauthenticated', 'Metrics need the token of metrics.token as Authorization: Bearer');
}

const isSame = (shown: string, token: string): boolean => isSameDigest(digestOf(shown), digestOf(token));
