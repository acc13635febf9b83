import type { FastifyRequest } from 'fastify';
import { AppError } from '../lib/errors.ts';
import { Secret } from '../lib/secret.ts';

/** Node keeps the first of two Authorization headers in silence; two readers could then see two callers. */
export function authorizationOf(request: FastifyRequest): string | undefined {
  const names = request.raw.rawHeaders.filter((_, index) => index % 2 === 0);
  if (names.filter(name => name.toLowerCase() === 'authorization').length > 1)
    throw new AppError('invalid-request', 'The request has more than one Authorization header');
  return request.headers.authorization;
}

/** Tokens that operators choose, for ingest and metrics: any visible characters. */
const CHOSEN = /^Bearer[ \t]+([\x21-\x7e]{1,4096})$/i;

export function operatorsToken(request: FastifyRequest): Secret | undefined {
  const token = CHOSEN.exec(authorizationOf(request) ?? '')?.[1];
  return token === undefined ? undefined : new Secret(token);
}
