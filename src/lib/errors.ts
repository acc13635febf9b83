/** Every code an answer can carry. `api/errors.ts` maps each to its HTTP status. */
export const ERROR_CODES = {
  'invalid-request': 'The request is malformed or a value is not allowed.',
  unauthenticated: 'No valid token was sent.',
  forbidden: 'The caller lacks the permission named in the message.',
  'password-change-required': 'The token may only change the password of its user; the message says how.',
  'local-login-disabled': 'Passwords of this server do not count; sign in with single sign-on.',
  'not-found': 'Nothing with that id exists, or the caller may not know of it.',
  'not-offered': 'Other servers of the Cribl API have this path and Headgate does not; the message says why.',
  'method-not-allowed': 'The path exists, but not with this method; see the Allow header.',
  conflict: 'The change collides with the present state.',
  'configuration-broken': 'The configuration on disk has errors; mend them first, they are listed.',
  'configuration-read-only': 'The folder of the configuration cannot be written.',
  'precondition-failed': 'The object is not what If-Match says any more; read it again.',
  misdirected:
    'The host of the request is none of this server, and `api.allowedHosts` can name it; or the connection was made for the host of another workspace.',
  unprocessable: 'The request is well formed and cannot be done as it is; the message says why.',
  'body-too-large': 'The request body is over the limit.',
  'unsupported-media-type': 'The Content-Type is not accepted here.',
  'rate-limited': 'Too many requests; wait as Retry-After says.',
  unavailable: 'The server cannot do this just now; try again as Retry-After says.',
  unanswered:
    'The request was passed on to the process that leads, and no answer came: it may have been done. Look before it is sent again.',
  internal: 'Something broke on our side; the log has the detail under the request id.',
} as const;

export type ErrorCode = keyof typeof ERROR_CODES;

/** One thing wrong with one place of an input. `path` is dotted, with `[n]` for list items. */
export interface Problem {
  readonly path: string;
  readonly message: string;
}

interface Details {
  readonly problems?: readonly Problem[];
  readonly retryAfterSeconds?: number;
  /** Of `unavailable`: the message names nothing of the machine, so that the caller gets it. */
  readonly isForCaller?: boolean;
  readonly cause?: unknown;
}

/** The one error that crosses rooms. `message` is for a person and never holds a secret. */
export class AppError extends Error {
  readonly code: ErrorCode;
  readonly problems: readonly Problem[] | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly isForCaller: boolean;

  constructor(code: ErrorCode, message: string, details: Details = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = 'AppError';
    this.code = code;
    this.problems = details.problems;
    this.retryAfterSeconds = details.retryAfterSeconds;
    this.isForCaller = details.isForCaller === true;
  }
}

export const notFound = (resource: string, id: string): AppError =>
  new AppError('not-found', `${resource} '${id}' not found`);

/** Clients of the API look for the words "already exists". `subject` names what was to be made, as in `user 'ann'`. */
export const alreadyExists = (subject: string, remedy = 'choose another id'): AppError =>
  new AppError('conflict', `${subject} already exists; ${remedy}`);

/** The text of anything thrown. */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The `code` Node and most libraries put on their errors, or ''. */
export function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : '';
  return typeof code === 'string' ? code : '';
}
