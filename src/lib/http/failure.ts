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
  /** The request was being written or was written: the receiver may have it. */
  readonly isWritten: boolean;

  constructor(reason: HttpFailureReason, message: string, cause?: unknown, isWritten = false) {
    super(message, { cause });
    this.name = 'HttpFailure';
    this.reason = reason;
    this.isWritten = isWritten;
  }
}

/** Raised by the connector, before a byte is sent. */
export class ForbiddenAddress extends Error {
  readonly code = 'ERR_FORBIDDEN_ADDRESS';
}

/** Raised by the connector where it must not show whether the name exists. */
export class UnreachableName extends Error {
  readonly code = 'ENOTFOUND';
}

interface FailureClass {
  readonly reason: HttpFailureReason;
  readonly codes: RegExp;
  readonly text: string;
}

/** By the codes of Node (system, TLS and X.509 errors) and undici; the first match counts. */
const FAILURE_CLASSES: readonly FailureClass[] = [
  {
    reason: 'other',
    codes: /^(ENETUNREACH|EHOSTUNREACH|ENETDOWN|EHOSTDOWN|EADDRNOTAVAIL|EAFNOSUPPORT)$/,
    text: 'there is no way to the address',
  },
  {
    reason: 'other',
    codes: /^ERR_SSL_(TLSV1_ALERT_)?NO_APPLICATION_PROTOCOL$/,
    text: 'the receiver does not speak HTTP/1.1',
  },
  {
    reason: 'other',
    codes: /^UND_ERR_HEADERS_OVERFLOW$/,
    text: 'the headers of the answer are longer than 16 KB',
  },
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

/**
 * Translates an error of the connection. `origin` is scheme, host and port: a path may be a secret. `isWritten` says that
 * it came after the request was begun to be written.
 */
export function failureOf(error: unknown, origin: string, isWritten = false): HttpFailure {
  if (error instanceof HttpFailure) return error;
  if (error instanceof ForbiddenAddress)
    return new HttpFailure('forbidden-address', `${origin}: the name leads to ${error.message}`, error);
  if (error instanceof UnreachableName) return new HttpFailure('dns', `${origin}: ${error.message}`, error);
  const foreign = describeForeignAnswer(error);
  if (foreign !== undefined) return new HttpFailure('other', `${origin}: ${foreign}`, error, isWritten);
  const code = codeOf(error);
  const found = FAILURE_CLASSES.find(one => one.codes.test(code));
  const detail = code === '' ? '' : ` (${code})`;
  return new HttpFailure(
    found?.reason ?? 'other',
    `${origin}: ${found?.text ?? 'the exchange failed'}${detail}`,
    error,
    isWritten,
  );
}

const MOST_SHOWN_BYTES = 32;
/** The parser's words for an answer that does not begin as one; it gives no code. */
const EXPECTED_HTTP = /\(Expected HTTP\//;

/** Describes an answer that is not HTTP, or not in its order; undefined for any other failure. */
function describeForeignAnswer(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const { message: said } = error;
  if (said === 'bad upgrade')
    return 'the receiver answered 101 Switching Protocols, which nobody asked it for';
  if (error.name !== 'HTTPParserError') return undefined;
  // Later on, an answer may hold what was sent, secrets included.
  if (!EXPECTED_HTTP.test(said)) return `the answer is not HTTP: ${said}`;
  const data: unknown = Reflect.get(error, 'data');
  return `the receiver answered something that is not HTTP: ${describeFirstBytes(Buffer.from(typeof data === 'string' ? data : '', 'utf8'))}`;
}

function describeFirstBytes(bytes: Buffer): string {
  const [first, second, third, fourth] = bytes;
  if (/^(GET|POST|PUT|PATCH|CONNECT) /.test(bytes.toString('latin1', 0, 8))) return 'the request itself';
  if (first === 0x15 && second === 3) return 'a TLS alert; write https in the address';
  if (first === 0 && second === 0 && fourth === 4)
    return `a frame of HTTP/2, ${third} bytes long; it must speak HTTP/1.1`;
  const shown = bytes.subarray(0, MOST_SHOWN_BYTES);
  // The parser hands on text: what was none cannot be shown as it came.
  if (shown.includes('\ufffd')) return 'bytes that are no text';
  const text = shown.toString('latin1').split(/[\r\n]/, 1)[0] ?? '';
  return /^[\x20-\x7e]{2,}$/.test(text) ? `first bytes "${text}"` : `first bytes ${shown.toString('hex')}`;
}
