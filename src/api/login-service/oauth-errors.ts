import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../../lib/clock.ts';
import { AppError, codeOf, type ErrorCode, reasonOf } from '../../lib/errors.ts';
import type { Logger } from '../../lib/logger.ts';
import { STATUS } from '../errors.ts';

/** Codes of RFC 6749, section 5.2, and of RFCs that extend it. */
type OAuthCode =
  | 'invalid_request'
  | 'invalid_client'
  | 'invalid_grant'
  | 'unsupported_grant_type'
  | 'invalid_scope'
  | 'access_denied'
  | 'slow_down'
  | 'temporarily_unavailable'
  | 'server_error';

const STATUSES: Partial<Record<OAuthCode, number>> = { invalid_client: 401, access_denied: 403 };

/** An OAuth error. Its description is one of a fixed list: nothing of the request comes back. */
export class OAuthError extends Error {
  readonly error: OAuthCode;

  constructor(error: OAuthCode, description: string) {
    super(description);
    this.name = 'OAuthError';
    this.error = error;
  }
}

const DESCRIPTIONS: Partial<Record<ErrorCode, readonly [OAuthCode, string]>> = {
  'invalid-request': ['invalid_request', 'The request is malformed'],
  'not-found': ['invalid_request', 'There is nothing at this path'],
  'method-not-allowed': ['invalid_request', 'This path takes another method, see the Allow header'],
  'body-too-large': ['invalid_request', 'The body is over 8 KiB'],
  'unsupported-media-type': [
    'invalid_request',
    'The body must be application/json or application/x-www-form-urlencoded in UTF-8',
  ],
  'rate-limited': ['slow_down', 'Too many requests, wait as Retry-After says'],
  unavailable: ['temporarily_unavailable', 'The service cannot do this just now, wait as Retry-After says'],
};

const REFUSED_BY_FASTIFY: Readonly<Record<string, ErrorCode>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'body-too-large',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'unsupported-media-type',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'invalid-request',
};

const RETRY_SECONDS = 5;
/** While the service is unavailable every request fails alike, so only one line is logged in this time. */
const LOG_INTERVAL_MS = 10_000;

/** Writes all error bodies of the service: `{error, error_description}`. */
export type OAuthErrorWriter = (error: unknown, request: FastifyRequest, reply: FastifyReply) => FastifyReply;

export function createOAuthErrorWriter(logger: Logger, clock: Pick<Clock, 'monotonic'>): OAuthErrorWriter {
  let loggedAt = Number.NEGATIVE_INFINITY;

  function logError(code: ErrorCode, error: unknown, request: FastifyRequest): void {
    const fields = { requestId: request.id, path: request.routeOptions.url, reason: reasonOf(error) };
    if (code === 'internal') logger.error(fields, 'request failed');
    if (code !== 'unavailable' || clock.monotonic() - loggedAt < LOG_INTERVAL_MS) return;
    loggedAt = clock.monotonic();
    logger.warn(fields, 'requests cannot be answered just now');
  }

  return (error, request, reply) => {
    void reply.header('pragma', 'no-cache').type('application/json; charset=utf-8');
    if (error instanceof OAuthError) {
      if (error.error === 'invalid_client' && triesBasic(request))
        void reply.header('www-authenticate', 'Basic realm="headgate", charset="UTF-8"');
      return reply.code(STATUSES[error.error] ?? 400).send(bodyOf(error.error, error.message));
    }
    const known = error instanceof AppError ? error : undefined;
    const code = known?.code ?? REFUSED_BY_FASTIFY[codeOf(error)] ?? 'internal';
    logError(code, error, request);
    const [oauth, description] = descriptionOf(code, known);
    const isOver = code === 'rate-limited' || code === 'unavailable';
    if (isOver) void reply.header('retry-after', String(known?.retryAfterSeconds ?? RETRY_SECONDS));
    return reply.code(STATUS[code]).send(bodyOf(oauth, description));
  };
}

function descriptionOf(code: ErrorCode, known: AppError | undefined): readonly [OAuthCode, string] {
  // Of the request it has the name of the host alone, which RFC 6749 takes as it is, and it says what to set.
  if (code === 'misdirected' && known !== undefined) return ['invalid_request', known.message];
  return DESCRIPTIONS[code] ?? ['server_error', 'Something went wrong on our side'];
}

const bodyOf = (error: OAuthCode, description: string): object => ({
  error,
  error_description: description,
});

const triesBasic = ({ headers }: FastifyRequest): boolean => /^basic\b/i.test(headers.authorization ?? '');
