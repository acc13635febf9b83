import type { FastifyRequest } from 'fastify';
import { Secret } from '../../lib/secret.ts';
import { authorizationOf } from '../authorization.ts';
import { OAuthError } from './oauth-errors.ts';
import { formDecoded, type Parameters } from './parameters.ts';

/** Who a program says it is, and what it shows for it. */
export interface ShownClient {
  readonly clientId: string;
  readonly clientSecret: Secret;
}

const BASIC = /^Basic +([A-Za-z0-9+/]+={0,2})$/i;

/** The one answer for whoever has not shown who they are. */
export const invalidClient = (): OAuthError =>
  new OAuthError('invalid_client', 'The client is not known, or its secret is not valid');

/**
 * By HTTP Basic or in the body, never both (RFC 6749, section 2.3). Throws `invalid_client` when neither says it,
 * `invalid_request` for two that do.
 */
export function shownClient(request: FastifyRequest, parameters: Parameters): ShownClient {
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

/** Both parts are form-encoded before they are joined, which changes nothing in those we make. */
function fromBasic(authorization: string): ShownClient | undefined {
  const encoded = BASIC.exec(authorization)?.[1];
  if (encoded === undefined) return undefined;
  const pair = Buffer.from(encoded, 'base64').toString('utf8');
  const at = pair.indexOf(':');
  if (at < 0) return undefined;
  const [clientId, secret] = [formDecoded(pair.slice(0, at)), formDecoded(pair.slice(at + 1))];
  if (clientId === undefined || secret === undefined || clientId === '' || secret === '') return undefined;
  return { clientId, clientSecret: new Secret(secret) };
}
