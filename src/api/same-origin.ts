import type { FastifyRequest } from 'fastify';
import { AppError } from '../lib/errors.ts';

/**
 * Throws `forbidden` unless a page of this very server asks: a browser says of each change where it comes from, and
 * adds cookies to those of foreign pages too. `externalUrl` is where people reach this server.
 */
export function assertSameOrigin(request: FastifyRequest, externalUrl: string | undefined): void {
  if (!isSameOrigin(request, externalUrl))
    throw new AppError(
      'forbidden',
      'Only the page of this server may ask this; programs use /api/v1/auth/login',
    );
}

/** Fetch Metadata is what no page can set, and right behind any proxy; old browsers have the Origin only. */
function isSameOrigin(request: FastifyRequest, externalUrl: string | undefined): boolean {
  const site = request.headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin';
  const { origin } = request.headers;
  const own = [`${request.protocol}://${request.host}`, ...(externalUrl === undefined ? [] : [externalUrl])];
  return origin !== undefined && own.some(url => URL.canParse(url) && new URL(url).origin === origin);
}
