import type { FastifyInstance, FastifyRequest } from 'fastify';
import { digestOf, isSameDigest } from '../../lib/digest.ts';
import { AppError } from '../../lib/errors.ts';
import { isLoopback } from '../../lib/loopback.ts';
import type { AllMetrics } from '../../lib/metrics.ts';
import type { Secret } from '../../lib/secret.ts';
import { operatorsToken } from '../authorization.ts';

export const METRICS_ROUTE = { method: 'GET', path: '/metrics' } as const;

export interface MetricsOptions {
  readonly metrics: AllMetrics;
  readonly token: () => Secret | undefined;
  /** Whether the installation is that of many: then the token is asked for wherever a request comes from. */
  readonly isHosted: boolean;
  /** Whether the request was sent to the host of a workspace, where there are no metrics. */
  readonly isToTenant: (request: Pick<FastifyRequest, 'host'>) => boolean;
}

/** How this installation is, as Prometheus text. */
export function addMetrics(server: FastifyInstance, options: MetricsOptions): void {
  const { metrics, token, isHosted, isToTenant } = options;
  server.get(METRICS_ROUTE.path, async (request, reply) => {
    if (isToTenant(request)) throw new AppError('not-found', 'There is nothing at this path');
    if (isHosted || !isOpenTo(request, token())) assertIsShown(request, token());
    return reply.type(metrics.contentType).send(await metrics.text());
  });
}

/** Open to this machine itself; a proxy's requests come from here as well and carry whom they are for. */
function isOpenTo(request: FastifyRequest, token: Secret | undefined): boolean {
  const isForwarded = 'x-forwarded-for' in request.headers || 'forwarded' in request.headers;
  return token === undefined && isLoopback(request.ip) && !isForwarded;
}

function assertIsShown(request: FastifyRequest, token: Secret | undefined): void {
  const shown = operatorsToken(request)?.reveal();
  if (token === undefined || shown === undefined || !isSame(shown, token.reveal()))
    throw new AppError('unauthenticated', 'Metrics need the token of metrics.token as Authorization: Bearer');
}

const isSame = (shown: string, token: string): boolean => isSameDigest(digestOf(shown), digestOf(token));
