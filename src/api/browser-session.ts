import type { FastifyRequest } from 'fastify';
import { isCsrfToken, type Session, type Sessions } from '../auth/sessions.ts';
import { AppError } from '../lib/errors.ts';
import type { CallLimits } from './call-limits.ts';
import { readCookie } from './cookies.ts';
import { SESSION_COOKIE } from './session-cookie.ts';

interface Found {
  readonly secret: string;
  readonly session: Session;
}

/** Who is signed in with the browser that sends a request. */
export interface BrowserSessions {
  /** Undefined when nobody is; either way the call counts. */
  find(request: FastifyRequest): Promise<Found | undefined>;
  /** Throws `unauthenticated`, and `forbidden` without the token that only our own page knows. */
  get(request: FastifyRequest): Promise<Found>;
}

const CSRF_HEADER = 'x-csrf-token';

export function browserSessions(
  sessionsOf: (request: FastifyRequest) => Pick<Sessions, 'find'>,
  limits: CallLimits,
): BrowserSessions {
  async function find(request: FastifyRequest): Promise<Found | undefined> {
    const secret = readCookie(request, SESSION_COOKIE);
    const session = secret === undefined ? undefined : await sessionsOf(request).find(secret);
    if (session === undefined) limits.stranger(request.ip);
    else limits.actor(session.user.id);
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
