import type { FastifyInstance } from 'fastify';
import type { RevokeToken } from '../../auth/client-revocation.ts';
import { invalidClient, shownClient } from './client-authentication.ts';
import { OAuthError } from './oauth-errors.ts';
import { parametersOf, type WithParameters } from './parameters.ts';

export const REVOKE_ROUTE = { method: 'POST', path: '/oauth/revoke' } as const;

/** `POST /oauth/revoke` (RFC 7009), answered once no process takes the token any more; 200 also for what is no token. */
export function addRevoke(scope: FastifyInstance, revoke: RevokeToken): void {
  scope.post<WithParameters>(REVOKE_ROUTE.path, async (request, reply) => {
    const parameters = parametersOf(request);
    const token = parameters.get('token');
    if (token === undefined) throw new OAuthError('invalid_request', 'The parameter token is missing');
    const outcome = await revoke({
      ...shownClient(request, parameters),
      token,
      address: request.ip,
      requestId: request.id,
    });
    if (outcome === 'unknown-client') throw invalidClient();
    if (outcome === 'of-another')
      throw new OAuthError('invalid_grant', 'The token was issued to another client');
    return reply.header('pragma', 'no-cache').code(200).send('');
  });
}
