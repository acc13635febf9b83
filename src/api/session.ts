import type { FastifyInstance, FastifyRequest } from 'fastify';
import * as z from 'zod';
import type { Identity } from '../auth/identity.ts';
import { isCsrfToken, type Session } from '../auth/sessions.ts';
import { AppError } from '../lib/errors.ts';
import { invalidInput } from '../resources/verb.ts';
import { readJsonBodies } from './bodies.ts';
import type { CallLimits } from './call-limits.ts';
import { readCookie } from './cookies.ts';
import { credentials, MOST_BYTES } from './login.ts';
import { addNotFound } from './not-found.ts';
import { assertSameOrigin } from './same-origin.ts';
import { SESSION_COOKIE, setSessionCookie } from './session-cookie.ts';
import { addSso, SSO_ROUTES } from './sso.ts';
import { wireSession } from './wire/session.ts';

export const SESSION_PREFIX = '/session';

/** What the page asks of its own server, for itself alone. */
const SESSION_ROUTES = [
  { method: 'GET', path: '' },
  { method: 'DELETE', path: '' },
  { method: 'POST', path: '/login' },
  { method: 'POST', path: '/token' },
] as const;

export interface SessionOptions {
  readonly identity: Pick<Identity, 'signIn' | 'sessions' | 'sso' | 'localLogin'>;
  readonly externalUrl: () => string | undefined;
  readonly limits: CallLimits;
}

const CSRF_HEADER = 'x-csrf-token';

const use = z.strictObject({ active: z.boolean().default(true) }).prefault({});

/** `/session`: who is signed in with this browser, by a cookie that no script can read. */
export async function addSession(scope: FastifyInstance, options: SessionOptions): Promise<void> {
  const { signIn, sessions, sso, localLogin } = options.identity;
  const { limits } = options;
  readJsonBodies(scope);
  scope.addHook('onRequest', async request => {
    if (!request.is404 && request.method !== 'GET' && request.method !== 'HEAD')
      assertSameOrigin(request, options.externalUrl());
  });

  const tell = async (session: Session | undefined): Promise<object> =>
    wireSession(session, { sso: sso.name(), localLogin: await localLogin.state() });

  scope.get('/', async request => tell((await find(request))?.session));

  scope.post('/login', { bodyLimit: MOST_BYTES }, async (request, reply) => {
    const parsed = credentials.safeParse(request.body);
    if (!parsed.success) throw invalidInput(parsed.error);
    const former = readCookie(request, SESSION_COOKIE);
    const { secret, session } = await signIn({
      ...parsed.data,
      address: request.ip,
      requestId: request.id,
      former,
    });
    setSessionCookie(request, reply, secret);
    return tell(session);
  });

  scope.post('/token', { bodyLimit: MOST_BYTES }, async request => {
    const parsed = use.safeParse(request.body ?? undefined);
    if (!parsed.success) throw invalidInput(parsed.error);
    const { secret, session } = await sessionOf(request);
    const used = parsed.data.active ? await sessions.touch(secret) : undefined;
    return sessions.issueToken(used ?? session);
  });

  scope.delete('/', { bodyLimit: MOST_BYTES }, async (request, reply) => {
    const { secret } = await sessionOf(request);
    const { idToken } = await sessions.end(secret);
    setSessionCookie(request, reply);
    const logoutUrl = idToken === undefined ? undefined : await sso.logoutUrl(idToken);
    return { ...(await tell(undefined)), ...(logoutUrl !== undefined && { logoutUrl }) };
  });

  /** Undefined when nobody is signed in; either way the call counts. */
  async function find(request: FastifyRequest): Promise<{ secret: string; session: Session } | undefined> {
    const secret = readCookie(request, SESSION_COOKIE);
    const session = secret === undefined ? undefined : await sessions.find(secret);
    if (session === undefined) limits.stranger(request.ip);
    else limits.actor(session.user.id);
    return secret === undefined || session === undefined ? undefined : { secret, session };
  }

  /** Throws `unauthenticated`, and `forbidden` without the token that only our own page knows. */
  async function sessionOf(request: FastifyRequest): Promise<{ secret: string; session: Session }> {
    const found = await find(request);
    if (found === undefined) throw new AppError('unauthenticated', 'Nobody is signed in here; sign in again');
    const presented = request.headers[CSRF_HEADER];
    if (typeof presented !== 'string' || !isCsrfToken(found.session, presented))
      throw new AppError('forbidden', `The header ${CSRF_HEADER} does not hold the token of this session`);
    return found;
  }

  addSso(scope, options.identity);
  addNotFound(scope, SESSION_PREFIX, [...SESSION_ROUTES, ...SSO_ROUTES]);
}
