import type { FastifyInstance } from 'fastify';
import * as z from 'zod';
import type { Operation } from '../operation.ts';

/** `startTime` is in epoch ms. */
export interface ServerHealth {
  readonly status: 'healthy' | 'standby' | 'shutting down';
  readonly startTime: number;
}

/** Cribl's own status for a server that is up but does no work. */
const NOT_HEALTHY = 420;

const healthSchema = z.object({
  status: z.enum(['healthy', 'standby', 'shutting down']),
  role: z.literal('primary'),
  startTime: z.number().describe('Epoch ms.'),
  overlay: z.object({ state: z.literal('inactive') }),
});

export const healthOperation: Operation = {
  id: 'health.get',
  method: 'GET',
  path: '/health',
  summary: 'Report whether the server works: 200 when it does, 420 when it does not',
  access: 'public',
  params: {},
  query: {},
  takesIfMatch: false,
  answer: { kind: 'object', shape: { name: 'Health', schema: healthSchema } },
  hasEtag: false,
  otherStatuses: [{ status: NOT_HEALTHY, description: 'It stands by or shuts down.' }],
  errors: [],
  example: {},
};

export function addHealth(scope: FastifyInstance, health: () => ServerHealth): void {
  scope.get(healthOperation.path, async (_request, reply) => {
    const { status, startTime } = health();
    const body: z.output<typeof healthSchema> = {
      status,
      role: 'primary',
      startTime,
      overlay: { state: 'inactive' },
    };
    return reply.code(status === 'healthy' ? 200 : NOT_HEALTHY).send(body);
  });
}
