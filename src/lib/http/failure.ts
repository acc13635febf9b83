import { codeOf } from '../errors.ts';

/** Why no answer came. `tls` and `forbidden-address` are not mended by trying again soon. */
export type HttpFailureReason =
  | 'dns'
  | 'refused'
  | 'reset'
  | 'timeout'
  | 'tls'
  | 'forbidden-address'
  | 'aborted'
  | 'other';

/** Thrown by `HttpClient.request` when no answer came. The message names scheme and host only: a URL may be a secret. */
export class HttpFailure extends Error {
  readonly reason: HttpFailureReason;

  constructor(reason: HttpFailureReason, message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'HttpFailure';
    this.reason = reason;
  }
}

/** Raised by the connector, before a byte is sent. */
export class ForbiddenAddress extends Error {
  readonly code = 'ERR_FORBIDDEN_ADDRESS';
}

interface FailureClass {
  readonly reason: HttpFailureReason;
  readonly codes: RegExp;
  readonly text: string;
}

/** By the codes of Node (system, TLS and X.509 errors) and undici; the first match counts. */
const FAILURE_CLASSES: readonly FailureClass[] = [
  { reason: 'dns', codes: /^(ENOTFOUND|EAI_\w+|ENODATA|ESERVFAIL)$/, text: 'the name cannot be resolved' },
  { reason: 'refused', codes: /^ECONNREFUSED$/, text: 'the connection was refused' },
  {
    reason: 'reset',
    codes: /^(ECONNRESET|ECONNABORTED|EPIPE|UND_ERR_SOCKET|UND_ERR_REQ_CONTENT_LENGTH_MISMATCH)$/,
    text: 'the connection was closed before the answer was complete',
  },
  {
    reason: 'timeout',
    codes: /^(ETIMEDOUT|UND_ERR_CONNECT_TIMEOUT|UND_ERR_HEADERS_TIMEOUT)$/,
    text: 'the connection timed out',
  },
  {
    reason: 'tls',
    codes: /CERT|^CRL_|^UNABLE_TO_|^INVALID_(CA|PURPOSE)$|^PATH_LENGTH_EXCEEDED$|^HOSTNAME_MISMATCH$/,
    text: 'the TLS certificate is not trusted',
  },
  {
    reason: 'tls',
    codes: /^ERR_SSL_(WRONG_VERSION_NUMBER|UNSUPPORTED_PROTOCOL|\w*PROTOCOL_VERSION)$/,
    text: 'there is no common TLS version; does the port speak TLS?',
  },
  { reason: 'aborted', codes: /^UND_ERR_(ABORTED|DESTROYED|CLOSED)$/, text: 'the request was given up' },
  { reason: 'other', codes: /^HPE_/, text: 'the answer is not HTTP' },
  { reason: 'other', codes: /^Z_/, text: 'the answer is not the gzip it says it is' },
];

/** Translates an error of the connection. `origin` is scheme, host and port: a path may be a secret. */
export function failureOf(error: unknown, origin: string): HttpFailure {
  if (error instanceof HttpFailure) return error;
  if (error instanceof ForbiddenAddress)
    return new HttpFailure('forbidden-address', `${origin}: the name leads to ${error.message}`, error);
  const code = codeOf(error);
  const found = FAILURE_CLASSES.find(one => one.codes.test(code));
  const detail = code === '' ? '' : ` (${code})`;
  return new HttpFailure(
    found?.reason ?? 'other',
    `${origin}: ${found?.text ?? 'the exchange failed'}${detail}`,
    error,
  );
}
