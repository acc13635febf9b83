import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { type FastifyInstance, type FastifyRequest, fastify } from 'fastify';
import { AppError } from '../lib/errors.ts';
import type { Ids } from '../lib/ids.ts';
import type { Logger } from '../lib/logger.ts';
import type { TlsServers } from '../lib/tls-servers.ts';
import type { TrustedProxies } from '../lib/trusted-proxies.ts';
import { assertOneHost, serverNameOf } from './requested-host.ts';

/**
 * Whether a connection that was made for the one name must not ask for the other host, though one certificate covers
 * both: they are different workspaces (RFC 9110 section 15.5.20).
 */
export type IsMisdirected = (serverName: string, host: string) => boolean;

interface BaseOptions {
  readonly proxies: TrustedProxies;
  /** Makes what speaks https; without it http is spoken. */
  readonly createListener?: TlsServers['create'] | undefined;
  readonly bodyLimit: number;
  /** Answers what never became a request. */
  readonly refuseUnreadable: (error: Error, socket: Socket, ids: Ids) => void;
  /** Without it nothing is. */
  readonly isMisdirected?: IsMisdirected | undefined;
  /** Headers of every answer besides ours; asked each time. */
  readonly headers: () => Readonly<Record<string, string>>;
  readonly ids: Ids;
  readonly logger: Logger;
}

const REQUEST_TIMEOUT_MS = 30_000;
/** No path can be longer than Node's limit for all headers, so ids have only the limits of their verbs. */
const LONGEST_PARAMETER = 16 * 1024;
const GIVEN_REQUEST_ID = /^[a-zA-Z0-9_-]{1,64}$/;

/** A server without routes and without readers of bodies, as every door of ours begins. */
export function createBaseServer(options: BaseOptions): FastifyInstance {
  const { proxies, createListener, bodyLimit, refuseUnreadable, isMisdirected, headers, ids, logger } =
    options;
  const server = fastify({
    trustProxy: proxies.has,
    ...(createListener && { serverFactory: createListener }),
    logger: false,
    bodyLimit,
    requestTimeout: REQUEST_TIMEOUT_MS,
    routerOptions: { maxParamLength: LONGEST_PARAMETER },
    rewriteUrl: request => decodable(request.url ?? '/'),
    clientErrorHandler: (error, socket) => refuseUnreadable(error, socket, ids),
    forceCloseConnections: 'idle',
    // Requests that come in on open connections during the stop are answered like all others.
    return503OnClosing: false,
    genReqId: request => {
      const given = request.headers['x-request-id'];
      return typeof given === 'string' && GIVEN_REQUEST_ID.test(given) ? given : ids.next();
    },
  });
  server.removeAllContentTypeParsers();
  // Hooks of every request that wait for nothing are told by `done`: a promise for each would cost more than they do.
  server.addHook('onRequest', (request, reply, done) => {
    believe(request.raw, proxies);
    reply.headers(headers());
    reply.header('x-request-id', request.id);
    reply.header('x-content-type-options', 'nosniff');
    reply.header('referrer-policy', 'no-referrer');
    reply.header('cache-control', 'no-store');
    assertOneHost(request.raw);
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

/** Leaves in `X-Forwarded-For` of a trusted proxy whom the request is from, which `request.ip` is then everywhere. */
function believe({ headers, socket }: IncomingMessage, proxies: TrustedProxies): void {
  const forwardedFor = headers['x-forwarded-for'];
  const connected = socket.remoteAddress ?? '';
  if (forwardedFor === undefined || !proxies.has(connected)) return;
  headers['x-forwarded-for'] = proxies.callerOf(connected, String(forwardedFor));
}

/** Throws `misdirected`. A trusted proxy's connection is its own: it says for which host each request is. */
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

/** Escapes that stand for no text are taken literally: the router would refuse them in a form of its own. */
function decodable(url: string): string {
  const [path = '', ...query] = url.split('?');
  if (!path.includes('%')) return url;
  try {
    decodeURIComponent(path);
    return url;
  } catch {
    return [path.replaceAll('%', '%25'), ...query].join('?');
  }
}
