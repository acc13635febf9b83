import type { ClientTls } from './client-tls.ts';

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

export interface HttpRequest {
  readonly url: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  /** For the whole exchange, connecting and reading the body included. */
  readonly timeoutMs: number;
  /** Bytes of the answer that are read and no further; what is over sets `truncated`. */
  readonly maxAnswerBytes: number;
  /** Whether a certificate is taken that nobody vouches for. */
  readonly trustsAnyone?: boolean;
  /** What is shown and trusted over https, without a proxy. */
  readonly tls?: ClientTls;
  /** Whether the connection serves no other request. */
  readonly closes?: boolean;
  /** Whether it goes through the proxy of the environment, where there is one for the address. */
  readonly proxied?: boolean;
  /** Whether new connections take turns among the addresses of the host. A proxy knows its addresses alone. */
  readonly takesTurns?: boolean;
  readonly signal?: AbortSignal;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  readonly truncated: boolean;
}

/** The only way out over HTTP, for targets and scraping alike. Redirects are answers, never followed. */
export interface HttpClient {
  request(request: HttpRequest): Promise<HttpAnswer>;
  close(): Promise<void>;
}
