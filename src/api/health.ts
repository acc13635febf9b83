import type { FastifyInstance } from 'fastify';

/** How the process is; `startTime` is epoch ms. */
export interface Health {
  readonly status: 'healthy' | 'standby' | 'shutting down';
  readonly startTime: number;
}

/** The family's own status for a server that is up but does no work. */
const NOT_HEALTHY = 420;

export function addHealth(scope: FastifyInstance, health: () => Health): void {
  scope.get('/health', async (_request, reply) => {
    const { status, startTime } = health();
    return reply
      .code(status === 'healthy' ? 200 : NOT_HEALTHY)
      .send({ status, role: 'primary', startTime, overlay: { state: 'inactive' } });
  });
}
