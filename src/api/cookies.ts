import type { FastifyReply, FastifyRequest } from 'fastify';

interface CookieOptions {
  /** Seconds; without it the cookie ends with the browser, 0 takes it back. */
  readonly maxAge?: number;
  /** Whether a page of another site may lead here with it, as an identity provider does. */
  readonly sameSite: 'Strict' | 'Lax';
}

/** Whether the connection is encrypted, up to a proxy that is trusted. */
const isSecure = (request: FastifyRequest): boolean => request.protocol === 'https';

/** With this prefix no other host and no unencrypted page can have set it (RFC 6265bis section 4.1.3.2). */
const nameFor = (request: FastifyRequest, name: string): string =>
  isSecure(request) ? `__Host-${name}` : name;

/** Undefined when it is not there, or there twice: one of the two was then planted. */
export function readCookie(request: FastifyRequest, name: string): string | undefined {
  const wanted = `${nameFor(request, name)}=`;
  const found = (request.headers.cookie ?? '')
    .split(';')
    .map(part => part.trim())
    .filter(part => part.startsWith(wanted));
  return found.length === 1 ? found[0]?.slice(wanted.length) : undefined;
}

/** No script can read it, and it goes to this host only. The value must need no quotes. */
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

/** Without a secret it is taken back. */
export function setSessionCookie(request: FastifyRequest, reply: FastifyReply, secret?: string): void {
  writeCookie({ request, reply, name: SESSION_COOKIE }, secret ?? '', {
    // Unencrypted, other programs of this host can set it too: then no link from elsewhere brings it along.
    sameSite: isSecure(request) ? 'Lax' : 'Strict',
    ...(secret === undefined && { maxAge: 0 }),
  });
}
