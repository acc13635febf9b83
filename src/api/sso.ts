import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Identity } from '../auth/identity.ts';
import { SignInRefused } from '../auth/sso/refusal.ts';
import { readCookie, writeCookie } from './cookies.ts';
import { SESSION_COOKIE, setSessionCookie } from './session-cookie.ts';

export const SSO_ROUTES = [
  { method: 'GET', path: '/sso' },
  { method: 'GET', path: '/callback' },
] as const;

const COOKIE = 'sso';

/** Where a browser goes to sign in with the provider, and where it comes back to. */
export function addSso(
  scope: FastifyInstance,
  signInOf: (request: FastifyRequest) => Pick<Identity, 'sso'>,
): void {
  scope.get<{ Querystring: { returnTo?: string | string[] } }>('/sso', async (request, reply) => {
    const { returnTo } = request.query;
    return toPage(reply, async () => {
      const begun = await signInOf(request).sso.begin(typeof returnTo === 'string' ? returnTo : undefined);
      setCookie(request, reply, begun.cookie, begun.seconds);
      return begun.location;
    });
  });

  scope.get('/callback', async (request, reply) =>
    toPage(reply, async () => {
      const cookie = readCookie(request, COOKIE);
      setCookie(request, reply, '', 0);
      const { secret, returnTo } = await signInOf(request).sso.finish({
        search: new URL(request.url, 'http://headgate.invalid').search,
        cookie,
        former: readCookie(request, SESSION_COOKIE),
        address: request.ip,
        requestId: request.id,
      });
      setSessionCookie(request, reply, secret);
      return returnTo;
    }),
  );
}

/** A browser is on its way, so it is led to a page, which says what went wrong. */
async function toPage(reply: FastifyReply, work: () => Promise<string>): Promise<FastifyReply> {
  try {
    return reply.redirect(await work(), 303);
  } catch (error) {
    if (!(error instanceof SignInRefused)) throw error;
    return reply.redirect(refusedAt(error), 303);
  }
}

/** Where somebody was on the way to, so that another try leads there too. */
function refusedAt({ returnTo, reason }: SignInRefused): string {
  const url = new URL(returnTo, 'http://headgate.invalid');
  url.searchParams.set('sso', reason);
  return url.pathname + url.search + url.hash;
}

/** The way back begins at the provider, so the cookie must come along from there. */
function setCookie(request: FastifyRequest, reply: FastifyReply, value: string, maxAge: number): void {
  writeCookie({ request, reply, name: COOKIE }, value, { sameSite: 'Lax', maxAge });
}
