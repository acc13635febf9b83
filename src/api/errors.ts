import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError, codeOf, type ErrorCode, reasonOf } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';

const STATUS: Readonly<Record<ErrorCode, number>> = {
  'invalid-request': 400,
  unauthenticated: 401,
  forbidden: 403,
  'not-found': 404,
  'method-not-allowed': 405,
  conflict: 409,
  'configuration-broken': 409,
  'configuration-read-only': 409,
  'precondition-failed': 412,
  unprocessable: 422,
  'body-too-large': 413,
  'unsupported-media-type': 415,
  'rate-limited': 429,
  unavailable: 503,
  internal: 500,
};

/** What fastify itself refuses, by its code. */
const REFUSED_BY_FASTIFY: Readonly<Record<string, readonly [ErrorCode, string]>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: ['body-too-large', 'The request body is too large'],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: ['unsupported-media-type', 'The Content-Type is not accepted here'],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: ['invalid-request', 'The Content-Length does not match the body'],
};

/** The one writer of error bodies: `{status: "error", message, code, requestId, errors?}`. */
export function sendError(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  logger: Logger,
): FastifyReply {
  const known = asAppError(error);
  const isOurs = known.code === 'internal';
  if (isOurs)
    logger.error(
      { requestId: request.id, path: request.routeOptions.url, reason: reasonOf(error) },
      'request failed',
    );
  if (known.code === 'unauthenticated') reply.header('www-authenticate', challenge(request));
  if (known.retryAfterSeconds !== undefined) reply.header('retry-after', String(known.retryAfterSeconds));
  return reply
    .code(STATUS[known.code])
    .header('cache-control', 'no-store')
    .type('application/json; charset=utf-8')
    .send({
      status: 'error',
      message: isOurs ? 'Something went wrong on our side; the log has the detail' : known.message,
      code: known.code,
      requestId: request.id,
      ...(known.problems && { errors: known.problems }),
    });
}

function asAppError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  const [code, message] = REFUSED_BY_FASTIFY[codeOf(error)] ?? ['internal', ''];
  return new AppError(code, message, { cause: error });
}

/** RFC 6750 section 3.1: no error code when the request carried no token at all. */
const challenge = (request: FastifyRequest): string =>
  request.headers.authorization === undefined
    ? 'Bearer realm="api"'
    : 'Bearer realm="api", error="invalid_token"';
