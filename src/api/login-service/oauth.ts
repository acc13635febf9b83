import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { GrantToken, RevokeToken } from '../../auth/organizations/oauth-clients.ts';
import { Secret } from '../../lib/secret.ts';
import { authorizationOf } from '../hooks.ts';
import { JWKS_ROUTE } from '../jwks.ts';
import { OAuthError } from './oauth-errors.ts';
import { type FormParameters, formDecoded, parametersOf, type WithParameters } from './parameters.ts';

interface PresentedClient {
  readonly clientId: string;
  readonly clientSecret: Secret;
}

const BASIC = /^Basic +([A-Za-z0-9+/]+={0,2})$/i;

/** The same answer for every failure of authentication. */
const invalidClient = (): OAuthError =>
  new OAuthError('invalid_client', 'The client is not known, or its secret is not valid');

/**
 * By HTTP Basic or in the body, never both (RFC 6749, section 2.3). Throws `invalid_client` for neither and
 * `invalid_request` for both.
 */
function presentedClient(request: FastifyRequest, parameters: FormParameters): PresentedClient {
  const authorization = authorizationOf(request) ?? '';
  const clientId = parameters.get('client_id');
  const clientSecret = parameters.get('client_secret');
  if (!/^basic\b/i.test(authorization)) {
    if (clientId === undefined || clientSecret === undefined) throw invalidClient();
    return { clientId, clientSecret: new Secret(clientSecret) };
  }
  if (clientSecret !== undefined)
    throw new OAuthError('invalid_request', 'The client shows its secret in two ways');
  const shown = fromBasic(authorization);
  if (shown === undefined) throw invalidClient();
  if (clientId !== undefined && clientId !== shown.clientId)
    throw new OAuthError('invalid_request', 'The client is named in two ways that differ');
  return shown;
}

/** Both parts are form-encoded before they are joined, which changes nothing in ids and secrets of ours. */
function fromBasic(authorization: string): PresentedClient | undefined {
  const encoded = BASIC.exec(authorization)?.[1];
  if (encoded === undefined) return undefined;
  const pair = Buffer.from(encoded, 'base64').toString('utf8');
  const at = pair.indexOf(':');
  if (at < 0) return undefined;
  const [clientId, secret] = [formDecoded(pair.slice(0, at)), formDecoded(pair.slice(at + 1))];
  if (clientId === undefined || secret === undefined || clientId === '' || secret === '') return undefined;
  return { clientId, clientSecret: new Secret(secret) };
}

export const TOKEN_ROUTE = { method: 'POST', path: '/oauth/token' } as const;
const GRANT_TYPE = 'client_credentials';

const REFUSALS = {
  client: invalidClient,
  'audience-missing': () =>
    new OAuthError(
      'invalid_request',
      'The parameter audience (or resource) is missing; it names one of several',
    ),
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
      ...presentedClient(request, parameters),
      audience: parameters.get('audience'),
      resource: parameters.get('resource'),
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

export const REVOKE_ROUTE = { method: 'POST', path: '/oauth/revoke' } as const;

/** `POST /oauth/revoke` (RFC 7009), answered once no process accepts the token any more; 200 also for an invalid token. */
export function addRevoke(scope: FastifyInstance, revoke: RevokeToken): void {
  scope.post<WithParameters>(REVOKE_ROUTE.path, async (request, reply) => {
    const parameters = parametersOf(request);
    const token = parameters.get('token');
    if (token === undefined) throw new OAuthError('invalid_request', 'The parameter token is missing');
    const outcome = await revoke({
      ...presentedClient(request, parameters),
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

export const METADATA_ROUTE = { method: 'GET', path: '/.well-known/oauth-authorization-server' } as const;

const METHODS = ['client_secret_basic', 'client_secret_post'];

/** Serves the metadata of the service (RFC 8414). */
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
