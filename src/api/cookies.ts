import type { FastifyReply, FastifyRequest } from 'fastify';

interface CookieOptions {
  /** In seconds; without it the cookie ends with the browser, 0 deletes it. */
  readonly maxAge?: number;
  /** `Lax` where a redirect from another site must carry it, as from an identity provider. */
  readonly sameSite: 'Strict' | 'Lax';
}

/** Encrypted, at least up to a trusted proxy. */
const isSecure = (request: FastifyRequest): boolean => request.protocol === 'https';

/** With this prefix no other host and no unencrypted page can set it (RFC 6265bis section 4.1.3.2). */
const nameFor = (request: FastifyRequest, name: string): string =>
  isSecure(request) ? `__Host-${name}` : name;

/** Undefined without the cookie, and with two: then one of them was planted. */
export function readCookie(request: FastifyRequest, name: string): string | undefined {
  const wanted = `${nameFor(request, name)}=`;
  const found = (request.headers.cookie ?? '')
    .split(';')
    .map(part => part.trim())
    .filter(part => part.startsWith(wanted));
  return found.length === 1 ? found[0]?.slice(wanted.length) : undefined;
}

/** No script can read it, and it goes to this host only. The value must not need quotes. */
export function writeCookie(
  { request, reply, name }: { request: FastifyRequest; reply: FastifyReply; name: string },
  value: string,
  { maxAge, sameSite }: CookieOptions,
): void {
  const parts = [
    `${nameFor(request, name)}=${value}`,
    'Path=/',
    'HttpOnly',
    `SameSite=${sameSite}`,
    ...(isSecure(request) ? ['Secure'] : []),
    ...(maxAge === undefined ? [] : [`Max-Age=${maxAge}`]),
  ];
  void reply.header('set-cookie', parts.join('; '));
}

export const SESSION_COOKIE = 'sid';

/** Deletes the cookie without a secret. */
export function setSessionCookie(request: FastifyRequest, reply: FastifyReply, secret?: string): void {
  writeCookie({ request, reply, name: SESSION_COOKIE }, secret ?? '', {
    // Without encryption other programs of this host can set it too, so no link from elsewhere may carry it.
    sameSite: isSecure(request) ? 'Lax' : 'Strict',
    ...(secret === undefined && { maxAge: 0 }),
  });
}
