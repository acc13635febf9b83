import type { FastifyInstance } from 'fastify';
import { AppError } from '../lib/errors.ts';
import type { HttpForward } from '../lib/http-forward.ts';
import type { TenantOf } from './tenant.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether only the process that leads can answer. */
    readonly isLive?: boolean;
  }
}

/** Where what this process cannot answer is answered. */
export interface Forwarding {
  /** Id of this process, for the others. */
  readonly node: string;
  readonly tenantOf: TenantOf;
  readonly http: HttpForward;
}

/** Names the process that sent a request on. */
const FORWARDED = 'x-headgate-forwarded';

/**
 * Requests that only the leading process can answer go there as they came, before anything of them is read. Hooks that
 * were added to the scope before have refused by then what any process can refuse: a server that answers while a body
 * is still on its way breaks the connection, and its answer may be lost.
 */
export function forwardLive(scope: FastifyInstance, { node, tenantOf, http }: Forwarding): void {
  scope.addHook('onRequest', async (request, reply) => {
    if (request.is404 || request.routeOptions.config.isLive !== true) return;
    const origin = await tenantOf(request).leaderUrl();
    if (origin === undefined) return;
    if (Number(request.headers['content-length'] ?? 0) > (request.routeOptions.bodyLimit ?? 0))
      throw new AppError('body-too-large', 'The request body is too large');
    // Two that each take the other for the leading one must not send a request to and fro.
    if (request.headers[FORWARDED] !== undefined)
      throw new AppError('unavailable', 'this process does not lead any more', { retryAfterSeconds: 1 });
    const headers = {
      [FORWARDED]: node,
      'x-request-id': request.id,
      // What the caller says of itself must not reach a process that trusts this one.
      'x-forwarded-for': request.ip,
      'x-forwarded-proto': request.protocol,
      'x-forwarded-host': request.host,
    };
    await http.forward({ incoming: request.raw, outgoing: reply.raw, origin, headers });
    return reply.hijack();
  });
}
