import type { FastifyInstance } from 'fastify';
import type { GrantToken } from '../../auth/client-grant.ts';
import { invalidClient, shownClient } from './client-authentication.ts';
import { OAuthError } from './oauth-errors.ts';
import { parametersOf, type WithParameters } from './parameters.ts';

export const TOKEN_ROUTE = { method: 'POST', path: '/oauth/token' } as const;
export const GRANT_TYPE = 'client_credentials';

const REFUSALS = {
  client: invalidClient,
  'audience-missing': () => new OAuthError('invalid_request', 'The parameter audience is missing'),
  'audience-unknown': () => new OAuthError('access_denied', 'The audience is not one of this service'),
  scope: () => new OAuthError('invalid_scope', 'The scope is more than the client has'),
} as const;

/** `POST /oauth/token` (RFC 6749, section 4.4), also with a body of JSON: a bare token response. */
export function addToken(scope: FastifyInstance, grant: GrantToken): void {
  scope.post<WithParameters>(TOKEN_ROUTE.path, async (request, reply) => {
    const parameters = parametersOf(request);
    const grantType = parameters.get('grant_type');
    if (grantType === undefined)
      throw new OAuthError('invalid_request', 'The parameter grant_type is missing');
    if (grantType !== GRANT_TYPE)
      throw new OAuthError('unsupported_grant_type', `The only grant type is ${GRANT_TYPE}`);
    const granted = await grant({
      ...shownClient(request, parameters),
      audience: parameters.get('audience'),
      scope: parameters.get('scope'),
      address: request.ip,
      requestId: request.id,
    });
    if (granted.kind === 'refused') throw REFUSALS[granted.reason]();
    return reply.header('pragma', 'no-cache').send({
      access_token: granted.accessToken,
      scope: granted.scope,
      expires_in: granted.expiresIn,
      token_type: 'Bearer',
    });
  });
}
