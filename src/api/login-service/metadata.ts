import type { FastifyInstance } from 'fastify';
import { JWKS_ROUTE } from '../jwks.ts';
import { REVOKE_ROUTE } from './revoke.ts';
import { GRANT_TYPE, TOKEN_ROUTE } from './token.ts';

export const METADATA_ROUTE = { method: 'GET', path: '/.well-known/oauth-authorization-server' } as const;

const METHODS = ['client_secret_basic', 'client_secret_post'];

/** What the service can do (RFC 8414), for clients that ask before. */
export function addMetadata(server: FastifyInstance, issuer: string): void {
  const metadata = {
    issuer,
    token_endpoint: `${issuer}${TOKEN_ROUTE.path}`,
    token_endpoint_auth_methods_supported: METHODS,
    revocation_endpoint: `${issuer}${REVOKE_ROUTE.path}`,
    revocation_endpoint_auth_methods_supported: METHODS,
    jwks_uri: `${issuer}${JWKS_ROUTE.path}`,
    grant_types_supported: [GRANT_TYPE],
    response_types_supported: [],
  };
  server.get(METADATA_ROUTE.path, async (_request, reply) =>
    reply.header('cache-control', 'public, max-age=300').send(metadata),
  );
}
