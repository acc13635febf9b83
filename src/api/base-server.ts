import { type IncomingMessage, type RequestListener, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { type FastifyInstance, type FastifyRequest, type FastifyServerOptions, fastify } from 'fastify';
import { AppError, codeOf } from '../lib/errors.ts';
import type { Ids } from '../lib/ids.ts';
import type { Logger } from '../lib/logger.ts';
import type { ListenerLimits, TlsServers } from '../lib/tls-servers.ts';
import type { TrustedProxies } from '../lib/trusted-proxies.ts';
import { errorBody } from './errors.ts';
import type { HostRule } from './hosts.ts';

/**
 * True when a connection that was made for one name must not serve the other host, though one certificate covers both:
 * they are different workspaces (RFC 9110 section 15.5.20).
 */
export type IsMisdirected = (serverName: string, host: string) => boolean;

interface BaseServerOptions {
  readonly proxies: TrustedProxies;
  readonly hosts: HostRule;
  /** How long a request may take to arrive, in ms. */
  readonly requestTimeoutMs: number;
  /** Creates the HTTPS server; without it the server speaks HTTP. */
  readonly createListener?: TlsServers['create'] | undefined;
  readonly bodyLimit: number;
  /** Answers bytes that are no valid request. */
  readonly refuseUnreadable: (error: Error, socket: Socket, ids: Ids) => void;
  /** Without it no request is misdirected. */
  readonly isMisdirected?: IsMisdirected | undefined;
  /** Further headers of every answer; read each time. */
  readonly headers: () => Readonly<Record<string, string>>;
  readonly ids: Ids;
  readonly logger: Logger;
}

/** How long the headers of a request, and a handshake of TLS before them, may take at most. */
const MOST_HEADERS_MS = 10_000;
/** No path can be longer than Node's limit for all headers, so ids have only the limits of their verbs. */
const MOST_PARAMETER_LENGTH = 16 * 1024;
const GIVEN_REQUEST_ID = /^[a-zA-Z0-9_-]{1,64}$/;

/** A server without routes and body parsers, the base of all servers here. */
export function createBaseServer(options: BaseServerOptions): FastifyInstance {
  const {
    proxies,
    hosts,
    requestTimeoutMs,
    createListener,
    bodyLimit,
    refuseUnreadable,
    isMisdirected,
    headers,
    ids,
    logger,
  } = options;
  const server = fastify({
    trustProxy: proxies.has,
    ...listenerOptions(timeLimits(requestTimeoutMs), createListener),
    logger: false,
    bodyLimit,
    requestTimeout: requestTimeoutMs,
    routerOptions: { maxParamLength: MOST_PARAMETER_LENGTH, ignoreTrailingSlash: true },
    rewriteUrl: request => routableUrl(request.url ?? '/'),
    clientErrorHandler: (error, socket) => refuseUnreadable(error, socket, ids),
    forceCloseConnections: 'idle',
    // Requests on open connections are answered during the stop as well.
    return503OnClosing: false,
    genReqId: request => {
      const given = request.headers['x-request-id'];
      return typeof given === 'string' && GIVEN_REQUEST_ID.test(given) ? given : ids.next();
    },
  });
  server.removeAllContentTypeParsers();
  // Hooks that wait for nothing use `done`: a promise for each request would cost more than the hook.
  server.addHook('onRequest', (request, reply, done) => {
    applyForwardedFor(request.raw, proxies);
    reply.headers(headers());
    reply.header('x-request-id', request.id);
    reply.header('x-content-type-options', 'nosniff');
    reply.header('referrer-policy', 'no-referrer');
    reply.header('cache-control', 'no-store');
    // Two readers could see what follows such a request differently.
    if ((request.headers.host ?? '') === '') reply.header('connection', 'close');
    hosts.assertKnown(request);
    if (isMisdirected !== undefined) assertDirected(request, { proxies, isMisdirected });
    done();
  });
  server.addHook('onResponse', (request, reply, done) => {
    logger.debug(
      {
        requestId: request.id,
        method: request.method,
        path: request.routeOptions.url ?? '(unknown)',
        status: reply.statusCode,
        ms: Math.round(reply.elapsedTime),
      },
      'request',
    );
    done();
  });
  return server;
}

/** Node looks for connections that are over time only from time to time, by default every 30 seconds. */
const MOST_CHECK_INTERVAL_MS = 1000;

/** Limits that hold within a second, or a tenth of the time where that is shorter. */
const timeLimits = (requestTimeout: number): ListenerLimits => ({
  requestTimeout,
  headersTimeout: Math.min(requestTimeout, MOST_HEADERS_MS),
  connectionsCheckingInterval: Math.min(MOST_CHECK_INTERVAL_MS, Math.ceil(requestTimeout / 10)),
  // Answered by the rule of hosts, as every refusal is.
  requireHostHeader: false,
});

const listenerOptions = (limits: ListenerLimits, createListener: TlsServers['create'] | undefined) =>
  createListener === undefined
    ? { http: limits }
    : {
        serverFactory: (listener: RequestListener, { keepAliveTimeout }: FastifyServerOptions) =>
          createListener(listener, { ...limits, keepAliveTimeout }),
      };

/** Reduces `X-Forwarded-For` of a trusted proxy to the caller's address, which then is `request.ip` everywhere. */
function applyForwardedFor({ headers, socket }: IncomingMessage, proxies: TrustedProxies): void {
  const forwardedFor = headers['x-forwarded-for'];
  const connected = socket.remoteAddress ?? '';
  if (forwardedFor === undefined || !proxies.has(connected)) return;
  headers['x-forwarded-for'] = proxies.callerOf(connected, String(forwardedFor));
}

/** Throws `misdirected`. A trusted proxy may use one connection for all hosts. */
function assertDirected(
  { raw, host }: FastifyRequest,
  { proxies, isMisdirected }: { readonly proxies: TrustedProxies; readonly isMisdirected: IsMisdirected },
): void {
  const name = serverNameOf(raw);
  if (name === undefined || !isMisdirected(name, host)) return;
  if ('x-forwarded-host' in raw.headers && proxies.has(raw.socket.remoteAddress)) return;
  throw new AppError(
    'misdirected',
    'The connection was made for another host; open one for the host of the request',
  );
}

/** Takes invalid escapes literally: the router would refuse them in a form of its own. */
function routableUrl(url: string): string {
  const [path = '', ...query] = url.split('?');
  if (!path.includes('%')) return url;
  try {
    decodeURIComponent(path);
    return url;
  } catch {
    return [path.replaceAll('%', '%25'), ...query].join('?');
  }
}

/** The server name of the TLS handshake (RFC 6066 section 3); undefined without TLS or without a name. */
const serverNameOf = ({ socket }: IncomingMessage): string | undefined =>
  socket instanceof TLSSocket && typeof socket.servername === 'string' ? socket.servername : undefined;

/** Failures of Node's parser, by code; everything else is not HTTP. */
const REASONS: Readonly<Record<string, readonly [number, string]>> = {
  HPE_HEADER_OVERFLOW: [431, 'The headers of the request are too large'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, 'The chunk extensions of the request are too large'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'The request did not arrive in time'],
};

/** A client without TLS, or with another version, cannot read an answer. */
const NO_TLS = /^(?:ERR_(?:SSL|TLS)_|EPROTO$)/;

/** Answers bytes that are no valid request, in the form of every other error, and ends the connection. */
export function refuseUnreadable(error: Error, socket: Socket, ids: Ids): void {
  if (!socket.writable || codeOf(error) === 'ECONNRESET' || NO_TLS.test(codeOf(error))) {
    socket.destroy();
    return;
  }
  const [status, message] = REASONS[codeOf(error)] ?? [400, 'The request is not valid HTTP'];
  const body = JSON.stringify(errorBody(new AppError('invalid-request', message), ids.next()));
  socket.write(
    [
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
      'content-type: application/json; charset=utf-8',
      `content-length: ${Buffer.byteLength(body)}`,
      'connection: close',
      '',
      body,
    ].join('\r\n'),
  );
  // Ends when the answer is sent, though the client goes on sending.
  socket.destroySoon();
}
