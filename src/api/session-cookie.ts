import type { FastifyReply, FastifyRequest } from 'fastify';
import { isSecure, writeCookie } from './cookies.ts';

export const SESSION_COOKIE = 'sid';

/** Without a secret it is taken back. */
export function setSessionCookie(request: FastifyRequest, reply: FastifyReply, secret?: string): void {
  writeCookie({ request, reply, name: SESSION_COOKIE }, secret ?? '', {
    // Unencrypted, other programs of this host can set it too: then no link from elsewhere brings it along.
    sameSite: isSecure(request) ? 'Lax' : 'Strict',
    ...(secret === undefined && { maxAge: 0 }),
  });
}
