import type { FastifyRequest } from 'fastify';
import { AppError } from '../lib/errors.ts';

/** Node keeps the first of two Authorization headers in silence; two readers could then see two callers. */
export function authorizationOf(request: FastifyRequest): string | undefined {
  const names = request.raw.rawHeaders.filter((_, index) => index % 2 === 0);
  if (names.filter(name => name.toLowerCase() === 'authorization').length > 1)
    throw new AppError('invalid-request', 'The request has more than one Authorization header');
  return request.headers.authorization;
}
