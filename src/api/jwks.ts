import type { FastifyInstance } from 'fastify';
import type { Identity } from '../auth/identity.ts';
import { JWKS_MAX_AGE_SECONDS } from '../auth/tokens/key-rotation.ts';

export const JWKS_ROUTE = { method: 'GET', path: '/.well-known/jwks.json' } as const;

/** Serves the public keys of tokens (RFC 7517) to everybody, for verification elsewhere. */
export function addJwks(server: FastifyInstance, keys: Pick<Identity['keys'], 'published'>): void {
  server.get(JWKS_ROUTE.path, async (_request, reply) =>
    reply
      .header('cache-control', `public, max-age=${JWKS_MAX_AGE_SECONDS}`)
      .type('application/jwk-set+json')
      .send(JSON.stringify({ keys: keys.published() })),
  );
}
