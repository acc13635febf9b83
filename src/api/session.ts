import type { FastifyInstance, FastifyRequest } from 'fastify';
import * as z from 'zod';
import type { Identity } from '../auth/identity.ts';
import type { Session } from '../auth/sessions.ts';
import { invalidInput } from '../resources/verb.ts';
import { readJsonBodies } from './bodies.ts';
import { type BrowserSessions, browserSessions } from './browser-session.ts';
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

/** How people sign in at one address, and the sessions of browsers there. */
export type SignIn = Pick<Identity, 'signIn' | 'sessions' | 'sso' | 'localLogin'>;

export interface SessionOptions {
  /** How people sign in where the request was sent to. */
  readonly signInOf: (request: FastifyRequest) => SignIn;
  readonly externalUrl: () => string | undefined;
  readonly limits: CallLimits;
  /** What else a page can do for whoever is signed in. */
  readonly more?: MoreOfSession | undefined;
}

export interface MoreOfSession {
  readonly routes: readonly { readonly method: string; readonly path: string }[];
  add(scope: FastifyInstance, browsers: BrowserSessions): void;
}

const use = z.strictObject({ active: z.boolean().default(true) }).prefault({});

/** `/session`: who is signed in with this browser, by a cookie that no script can read. */
export async function addSession(scope: FastifyInstance, options: SessionOptions): Promise<void> {
  const { limits, signInOf } = options;
  const browsers = browserSessions(request => signInOf(request).sessions, limits);
  readJsonBodies(scope);
  scope.addHook('onRequest', async request => {
    if (!request.is404 && request.method !== 'GET' && request.method !== 'HEAD')
      assertSameOrigin(request, options.externalUrl());
  });

  async function tell(request: FastifyRequest, session: Session | undefined): Promise<object> {
    const { sso, localLogin } = signInOf(request);
    return wireSession(session, { sso: sso.name(), localLogin: await localLogin.state() });
  }

  scope.get('/', async request => tell(request, (await browsers.find(request))?.session));

  scope.post('/login', { bodyLimit: MOST_BYTES }, async (request, reply) => {
    const parsed = credentials.safeParse(request.body);
    if (!parsed.success) throw invalidInput(parsed.error);
    const former = readCookie(request, SESSION_COOKIE);
    const { secret, session } = await signInOf(request).signIn({
      ...parsed.data,
      address: request.ip,
      requestId: request.id,
      former,
    });
    setSessionCookie(request, reply, secret);
    return tell(request, session);
  });

  scope.post('/token', { bodyLimit: MOST_BYTES }, async request => {
    const parsed = use.safeParse(request.body ?? undefined);
    if (!parsed.success) throw invalidInput(parsed.error);
    const { sessions } = signInOf(request);
    const { secret, session } = await browsers.get(request);
    const used = parsed.data.active ? await sessions.touch(secret) : undefined;
    return sessions.issueToken(used ?? session);
  });

  scope.delete('/', { bodyLimit: MOST_BYTES }, async (request, reply) => {
    const { sessions, sso } = signInOf(request);
    const { secret } = await browsers.get(request);
    const { idToken } = await sessions.end(secret);
    setSessionCookie(request, reply);
    const logoutUrl = idToken === undefined ? undefined : await sso.logoutUrl(idToken);
    return { ...(await tell(request, undefined)), ...(logoutUrl !== undefined && { logoutUrl }) };
  });

  addSso(scope, signInOf);
  options.more?.add(scope, browsers);
  addNotFound(scope, SESSION_PREFIX, [...SESSION_ROUTES, ...SSO_ROUTES, ...(options.more?.routes ?? [])]);
}
