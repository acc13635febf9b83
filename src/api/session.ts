import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import * as z from 'zod';
import type { Identity } from '../auth/identity.ts';
import { type BrowserSession, type BrowserSessions, isCsrfToken } from '../auth/sessions/sessions.ts';
import type { LocalLoginState } from '../auth/sso/local-login.ts';
import { SignInRefused } from '../auth/sso/refusal.ts';
import { AppError } from '../lib/errors.ts';
import { readInput } from '../lib/problem-list.ts';
import type { CallLimits } from './call-limits.ts';
import { readCookie, SESSION_COOKIE, setSessionCookie, writeCookie } from './cookies.ts';
import { isoTime } from './envelope.ts';
import { addNotFound, readJsonBodies } from './hooks.ts';
import { credentialsSchema, MOST_LOGIN_BYTES } from './v1/auth.ts';

export const SESSION_PREFIX = '/session';

/** For the page alone. */
const SESSION_ROUTES = [
  { method: 'GET', path: '' },
  { method: 'DELETE', path: '' },
  { method: 'POST', path: '/login' },
  { method: 'POST', path: '/token' },
] as const;

/** A name and a password, and what else tells accounts apart. */
type Credentials = z.output<typeof credentialsSchema> & { readonly organization?: string | undefined };

/** Sign-in at one address, and the sessions of browsers there. */
export type SignIn = Pick<Identity, 'signIn' | 'sessions' | 'sso' | 'localLogin'>;

export interface SessionOptions {
  /** By the host that the request was sent to. */
  readonly signInOf: (request: FastifyRequest) => SignIn;
  readonly externalUrl: () => string | undefined;
  readonly limits: CallLimits;
  /** Further routes for a signed-in page. */
  readonly extension?: SessionExtension | undefined;
}

export interface SessionExtension {
  readonly routes: readonly { readonly method: string; readonly path: string }[];
  /** What a login with a password holds. */
  readonly credentials: z.ZodType<Credentials>;
  add(scope: FastifyInstance, browsers: RequestSessions): void;
}

const tokenRequestSchema = z.strictObject({ active: z.boolean().default(true) }).prefault({});

/** `/session`: the session of this browser, held in a cookie that no script can read. */
export async function addSession(scope: FastifyInstance, options: SessionOptions): Promise<void> {
  const { limits, signInOf } = options;
  const browsers = browserSessions(request => signInOf(request).sessions, limits);
  readJsonBodies(scope);
  scope.addHook('onRequest', async request => {
    if (!request.is404 && request.method !== 'GET' && request.method !== 'HEAD')
      assertSameOrigin(request, options.externalUrl());
  });

  async function sessionBody(request: FastifyRequest, session: BrowserSession | undefined): Promise<object> {
    const { sso, localLogin } = signInOf(request);
    return wireSession(session, { sso: sso.name(), localLogin: await localLogin.state() });
  }

  scope.get('/', async request => sessionBody(request, (await browsers.find(request))?.session));

  scope.post('/login', { bodyLimit: MOST_LOGIN_BYTES }, async (request, reply) => {
    const input = readInput(options.extension?.credentials ?? credentialsSchema, request.body);
    const former = readCookie(request, SESSION_COOKIE);
    const { secret, session } = await signInOf(request).signIn({
      ...input,
      address: request.ip,
      requestId: request.id,
      former,
    });
    setSessionCookie(request, reply, secret);
    return sessionBody(request, session);
  });

  scope.post('/token', { bodyLimit: MOST_LOGIN_BYTES }, async request => {
    const input = readInput(tokenRequestSchema, request.body ?? undefined);
    const { sessions } = signInOf(request);
    const { secret, session } = await browsers.get(request);
    const used = input.active ? await sessions.touch(secret) : undefined;
    return sessions.issueToken(used ?? session);
  });

  scope.delete('/', { bodyLimit: MOST_LOGIN_BYTES }, async (request, reply) => {
    const { sessions, sso } = signInOf(request);
    const { secret } = await browsers.get(request);
    const { idToken } = await sessions.end(secret);
    setSessionCookie(request, reply);
    const logoutUrl = idToken === undefined ? undefined : await sso.logoutUrl(idToken);
    return { ...(await sessionBody(request, undefined)), ...(logoutUrl !== undefined && { logoutUrl }) };
  });

  addSso(scope, signInOf);
  options.extension?.add(scope, browsers);
  addNotFound(scope, SESSION_PREFIX, sessionRoutes(options.extension?.routes));
}

interface RequestSession {
  readonly secret: string;
  readonly session: BrowserSession;
}

/** Finds the session of the browser that sends a request. */
interface RequestSessions {
  /** Undefined without a session. Both cases count against the rate limits. */
  find(request: FastifyRequest): Promise<RequestSession | undefined>;
  /** Throws `unauthenticated`, and `forbidden` without the CSRF token of the session. */
  get(request: FastifyRequest): Promise<RequestSession>;
}

const CSRF_HEADER = 'x-csrf-token';

function browserSessions(
  sessionsOf: (request: FastifyRequest) => Pick<BrowserSessions, 'find'>,
  limits: CallLimits,
): RequestSessions {
  async function find(request: FastifyRequest): Promise<RequestSession | undefined> {
    const secret = readCookie(request, SESSION_COOKIE);
    const session = secret === undefined ? undefined : await sessionsOf(request).find(secret);
    if (session === undefined) limits.countUnauthenticated(request.ip);
    else limits.countActor(session.user.id);
    return secret === undefined || session === undefined ? undefined : { secret, session };
  }

  return {
    find,
    async get(request) {
      const found = await find(request);
      if (found === undefined)
        throw new AppError('unauthenticated', 'Nobody is signed in here; sign in again');
      const presented = request.headers[CSRF_HEADER];
      if (typeof presented !== 'string' || !isCsrfToken(found.session, presented))
        throw new AppError('forbidden', `The header ${CSRF_HEADER} does not hold the token of this session`);
      return found;
    },
  };
}

/**
 * Throws `forbidden` unless a page of this server sends the request: browsers add cookies to requests of foreign pages
 * too, but name the origin of each. `externalUrl` is where people reach this server.
 */
function assertSameOrigin(request: FastifyRequest, externalUrl: string | undefined): void {
  if (!isSameOrigin(request, externalUrl))
    throw new AppError(
      'forbidden',
      'Only the page of this server may ask this; programs use /api/v1/auth/login',
    );
}

/** No page can set Fetch Metadata, and it is right behind any proxy; old browsers send the Origin only. */
function isSameOrigin(request: FastifyRequest, externalUrl: string | undefined): boolean {
  const site = request.headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin';
  const { origin } = request.headers;
  const own = [`${request.protocol}://${request.host}`, ...(externalUrl === undefined ? [] : [externalUrl])];
  return origin !== undefined && own.some(url => URL.canParse(url) && new URL(url).origin === origin);
}

const SSO_ROUTES = [
  { method: 'GET', path: '/sso' },
  { method: 'GET', path: '/callback' },
] as const;

const SSO_COOKIE = 'sso';

/** The routes below `/session`. */
export const sessionRoutes = (extended: SessionExtension['routes'] = []): SessionExtension['routes'] => [
  ...SESSION_ROUTES,
  ...SSO_ROUTES,
  ...extended,
];

/** Sends the browser to the identity provider, and takes it back. */
function addSso(scope: FastifyInstance, signInOf: (request: FastifyRequest) => Pick<Identity, 'sso'>): void {
  scope.get<{ Querystring: { returnTo?: string | string[] } }>('/sso', async (request, reply) => {
    const { returnTo } = request.query;
    return redirectToPage(reply, async () => {
      const begun = await signInOf(request).sso.begin(typeof returnTo === 'string' ? returnTo : undefined);
      setSsoCookie(request, reply, begun.cookie, begun.seconds);
      return begun.location;
    });
  });

  scope.get('/callback', async (request, reply) =>
    redirectToPage(reply, async () => {
      const cookie = readCookie(request, SSO_COOKIE);
      setSsoCookie(request, reply, '', 0);
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

/** A browser follows the redirect, so the page it leads to shows what went wrong. */
async function redirectToPage(reply: FastifyReply, work: () => Promise<string>): Promise<FastifyReply> {
  try {
    return reply.redirect(await work(), 303);
  } catch (error) {
    if (!(error instanceof SignInRefused)) throw error;
    return reply.redirect(refusalUrl(error), 303);
  }
}

/** The page that was asked for, so that another try leads there too. */
function refusalUrl({ returnTo, reason }: SignInRefused): string {
  const url = new URL(returnTo, 'http://headgate.invalid');
  url.searchParams.set('sso', reason);
  return url.pathname + url.search + url.hash;
}

/** Lax, as the redirect back comes from the provider's site. */
function setSsoCookie(request: FastifyRequest, reply: FastifyReply, value: string, maxAge: number): void {
  writeCookie({ request, reply, name: SSO_COOKIE }, value, { sameSite: 'Lax', maxAge });
}

interface SignInMethods {
  /** Name of the identity provider, if there is one. */
  readonly sso: string | undefined;
  readonly localLogin: LocalLoginState;
}

/** `session` is undefined when nobody is signed in. */
function wireSession(session: BrowserSession | undefined, { sso, localLogin }: SignInMethods): object {
  const methods = { localLogin: localLogin !== 'off', sso: sso === undefined ? null : { name: sso } };
  if (session === undefined) return { signedIn: false, ...methods };
  const { user, method, csrfToken, endsAt } = session;
  return {
    signedIn: true,
    ...methods,
    user: { id: user.id, username: user.username, role: user.role },
    method,
    isLocalLoginKept: localLogin === 'kept',
    csrfToken,
    forcePasswordChange: user.force_password_change === 1,
    endsAt: isoTime(endsAt),
  };
}
