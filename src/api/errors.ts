import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../lib/clock.ts';
import { AppError, codeOf, type ErrorCode, reasonOf } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import { LONGEST_RETRY_SECONDS } from '../lib/rate-limited.ts';

export const STATUS: Readonly<Record<ErrorCode, number>> = {
  'invalid-request': 400,
  unauthenticated: 401,
  forbidden: 403,
  'password-change-required': 403,
  'local-login-disabled': 403,
  'not-found': 404,
  'not-offered': 404,
  'method-not-allowed': 405,
  conflict: 409,
  'configuration-broken': 409,
  'configuration-read-only': 409,
  'precondition-failed': 412,
  misdirected: 421,
  unprocessable: 422,
  'body-too-large': 413,
  'unsupported-media-type': 415,
  'rate-limited': 429,
  unavailable: 503,
  unanswered: 504,
  internal: 500,
};

/** Errors of fastify itself, by code. */
const REFUSED_BY_FASTIFY: Readonly<Record<string, readonly [ErrorCode, string]>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: ['body-too-large', 'The request body is too large'],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: ['unsupported-media-type', 'The Content-Type is not accepted here'],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: ['invalid-request', 'The Content-Length does not match the body'],
};

/** Texts for faults of the server, whose details may name files and addresses and are in the log only. */
const FIXED_TEXTS: Partial<Record<ErrorCode, string>> = {
  internal: 'Something went wrong on our side; the log has the detail',
  unavailable: 'The server cannot do this just now; try again shortly',
};

/** While the server is unavailable every request fails alike, so only one line is logged in this time. */
const LOG_INTERVAL_MS = 10_000;

/** Writes all errors, by default as `{status: "error", message, code, requestId, errors?}`. */
export type ErrorWriter = (error: unknown, request: FastifyRequest, reply: FastifyReply) => FastifyReply;

export function createErrorWriter(
  logger: Logger,
  clock: Pick<Clock, 'monotonic'>,
  bodyOf: typeof errorBody = errorBody,
): ErrorWriter {
  let loggedAt = Number.NEGATIVE_INFINITY;

  function logError({ code }: AppError, error: unknown, request: FastifyRequest): void {
    const fields = { requestId: request.id, path: request.routeOptions.url, reason: reasonOf(error) };
    if (code === 'internal') logger.error(fields, 'request failed');
    if (code !== 'unavailable' || clock.monotonic() - loggedAt < LOG_INTERVAL_MS) return;
    loggedAt = clock.monotonic();
    logger.warn(fields, 'requests cannot be answered just now');
  }

  return (error, request, reply) => {
    const known = asAppError(error);
    logError(known, error, request);
    const retryAfter = retryAfterOf(known);
    if (known.code === 'unauthenticated') reply.header('www-authenticate', challenge(request));
    if (retryAfter !== undefined) reply.header('retry-after', String(retryAfter));
    return reply
      .code(STATUS[known.code])
      .type('application/json; charset=utf-8')
      .send(bodyOf(known, request.id));
  };
}

export const errorBody = ({ code, message, problems, isForCaller }: AppError, requestId: string): object => ({
  status: 'error',
  message: (isForCaller ? undefined : FIXED_TEXTS[code]) ?? message,
  code,
  requestId,
  ...(problems && { errors: problems }),
});

/** Errors as Cribl's management plane writes them; problems of a body are added. */
export const organizationErrorBody = ({ code, message, problems }: AppError, requestId: string): object => ({
  statusCode: STATUS[code],
  message: FIXED_TEXTS[code] ?? message,
  requestId,
  ...(problems && { errors: problems }),
});

function retryAfterOf({ code, retryAfterSeconds }: AppError): number | undefined {
  if (code !== 'unavailable') return retryAfterSeconds;
  return Math.min(retryAfterSeconds ?? LONGEST_RETRY_SECONDS, LONGEST_RETRY_SECONDS);
}

/** Maps any error to the one that is answered. */
export function asAppError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  const [code, message] = REFUSED_BY_FASTIFY[codeOf(error)] ?? ['internal', ''];
  return new AppError(code, message, { cause: error });
}

/** RFC 6750 section 3.1: no error code when the request carried no token at all. */
const challenge = (request: FastifyRequest): string =>
  request.headers.authorization === undefined
    ? 'Bearer realm="api"'
    : 'Bearer realm="api", error="invalid_token"';
