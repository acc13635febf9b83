import type { IncomingMessage, ServerResponse } from 'node:http';
import type { SecureContextOptions } from 'node:tls';
import { Agent } from 'undici';
import { AppError, codeOf, ERROR_CODES, reasonOf } from '../errors.ts';
import { type AddressGuard, resolveBySystem } from './guard.ts';
import { guardedConnector } from './tunnel.ts';

interface ForwardedRequest {
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
  /** `http://host:port` of the server that is to answer. */
  readonly origin: string;
  /** Added to those that came, in place of any of the same name. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Lets another server answer a request: bodies are streamed through. */
export interface HttpForward {
  /**
   * Throws `unavailable` when nothing was done, and `unanswered` when something may have been and no answer was begun; a begun
   * one is cut off.
   */
  forward(request: ForwardedRequest): Promise<void>;
  readonly close: () => Promise<void>;
}

const CONNECT_MS = 2000;
/** Processes of one installation may stand anywhere. */
const OF_OURS: AddressGuard = { refusal: () => undefined, isOwnPort: () => false };
/** How long the other server may think; the limit of what it streams is its own. */
const HEADERS_MS = 35_000;
/** Headers of one connection (RFC 9110 section 7.6.1), and those that Node sets anew. */
const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'transfer-encoding',
  'upgrade',
  'expect',
]);

/** `identity` is what is shown to a server of https that asks for a certificate. */
export function createHttpForward(identity: () => SecureContextOptions | undefined): HttpForward {
  const agent = new Agent({
    // Read for each connection, as certificates are replaced.
    connect: (options, callback) => {
      const tls = { ...identity(), rejectUnauthorized: true };
      guardedConnector({ guard: OF_OURS, resolve: resolveBySystem, tls, connectMs: CONNECT_MS })(
        options,
        callback,
      );
    },
    headersTimeout: HEADERS_MS,
    // Events that are streamed come whenever they come.
    bodyTimeout: 0,
    // Each request has a connection of its own, as it has one here: were they shared, streams and slow bodies of one
    // workspace would hold up all others.
    connections: null,
  });

  return {
    async forward({ incoming, outgoing, origin, headers }) {
      const abort = new AbortController();
      const gone = (): void => abort.abort();
      outgoing.once('close', gone);
      try {
        await agent.stream(
          {
            origin,
            path: (incoming.url ?? '/').replace(ORIGIN, '') || '/',
            method: methodOf(incoming),
            headers: { ...endToEndHeaders(incoming.headers), ...headers },
            body: hasBody(incoming) ? incoming : null,
            signal: abort.signal,
          },
          ({ statusCode, headers: answered }) => outgoing.writeHead(statusCode, endToEndHeaders(answered)),
        );
      } catch (cause) {
        if (outgoing.headersSent) outgoing.destroy();
        else throw failureOf(cause, incoming, origin);
      } finally {
        outgoing.off('close', gone);
      }
    },
    close: () => agent.destroy(),
  };
}

/** Nothing was written when these came. */
const NOT_CONNECTED =
  /^(ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|EHOSTDOWN|ENETDOWN|EADDRNOTAVAIL|ENOTFOUND|EAI_\w+|UND_ERR_CONNECT_TIMEOUT|ERR_SSL_\w+|\w*CERT\w*|UNABLE_TO_\w+)$/;
/** Asking for something changes nothing (RFC 9110 section 9.2.1). */
const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Clients send again what was not done. */
function failureOf(cause: unknown, incoming: IncomingMessage, origin: string): AppError {
  if (SAFE_METHODS.has(methodOf(incoming)) || NOT_CONNECTED.test(codeOf(cause)))
    return new AppError('unavailable', `${origin} does not answer: ${reasonOf(cause)}`, {
      cause,
      retryAfterSeconds: 1,
    });
  return new AppError('unanswered', ERROR_CODES.unanswered, { cause });
}

/** In the absolute form of a target (RFC 9112 section 3.2.2). */
const ORIGIN = /^https?:\/\/[^/?#]*/i;

type Headers = Readonly<Record<string, string | string[] | undefined>>;

const endToEndHeaders = (headers: Headers): Record<string, string | string[]> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]): [string, string | string[]][] =>
      value === undefined || HOP_BY_HOP.has(name) ? [] : [[name, value]],
    ),
  );

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;

const methodOf = ({ method }: IncomingMessage) => METHODS.find(one => one === method) ?? 'GET';

const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
