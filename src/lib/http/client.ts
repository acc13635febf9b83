import { EventEmitter } from 'node:events';
import { pipeline, type Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import type { Dispatcher } from 'undici';
import type { Clock } from '../clock.ts';
import { formatDuration } from '../duration.ts';
import { onAbort } from '../on-abort.ts';
import { MASK } from '../secret.ts';
import { type Agents, createAgents } from './agents.ts';
import type { Egress } from './egress.ts';
import { ForbiddenAddress, failureOf, HttpFailure } from './failure.ts';
import { type AddressPolicy, type Resolve, resolveBySystem } from './guard.ts';
import type { ForwardProxy, Proxies } from './proxy.ts';
import { type ClientTls, proxyRefusal } from './tunnel.ts';

export interface HttpRequest {
  readonly url: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  /** For the whole exchange, connecting and reading the body included. */
  readonly timeoutMs: number;
  /** Bytes of the answer that are read and no further; what is over sets `truncated`. */
  readonly maxAnswerBytes: number;
  /** True accepts a certificate that no trusted authority has signed. */
  readonly skipsVerification?: boolean;
  /** Certificates that are shown and trusted over https, without a proxy. */
  readonly tls?: ClientTls;
  /** True when the connection serves no other request. */
  readonly closesConnection?: boolean;
  /** True goes through the proxy of the environment, where there is one for the address. */
  readonly proxied?: boolean;
  /** True connects to the addresses of the host in turn. Without effect through a proxy. */
  readonly isRoundRobin?: boolean;
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
  readonly close: () => Promise<void>;
}

interface Options extends AddressPolicy {
  /** Connections to one origin; a request more waits, its time limit running. By default each request has one: callers bound them. */
  readonly connections?: number;
  readonly clock: Clock;
  readonly resolve?: Resolve;
  /** Called with the end of a receiver's certificate at each new connection; `notAfter` is epoch ms. */
  readonly onCertificate?: (origin: string, notAfter: number) => void;
  /** Every request goes through it, `proxied` or not. */
  readonly egress?: Egress | undefined;
  /** For requests that are `proxied`. By default there are none. */
  readonly proxies?: Proxies;
}

const ignore = (): void => {};

/** Throws `invalid-request` for an item of `allowedAddresses` that is no address and no range. */
export function createHttpClient(options: Options): HttpClient {
  const agents = createAgents({
    ...options,
    connections: options.connections ?? null,
    resolve: options.resolve ?? resolveBySystem,
  });
  return {
    async request(request) {
      const url = parseUrl(request.url);
      const proxy = request.proxied ? options.proxies?.proxyFor(url) : undefined;
      return exchange({ agents, url, proxy }, request, options.clock);
    },
    close: () => agents.close(),
  };
}

interface Route {
  readonly agents: Agents;
  readonly url: URL;
  readonly proxy: ForwardProxy | undefined;
}

/**
 * Races the answer against the clock and the caller. undici hears an abort only once the request has a connection, so a
 * look-up that hangs is left behind here. An emitter is its cheapest signal.
 */
async function exchange(route: Route, request: HttpRequest, clock: Clock): Promise<HttpAnswer> {
  const { origin } = route.url;
  const named = route.proxy === undefined ? origin : `${origin} through the proxy ${route.proxy.origin}`;
  const abort = new EventEmitter();
  return new Promise((resolve, reject) => {
    const abandon = (reason: 'timeout' | 'aborted', text: string): void => {
      end();
      reject(new HttpFailure(reason, `${named}: ${text}`));
      abort.emit('abort');
    };
    const giveUp = (): void => abandon('aborted', 'the request was given up');
    const cancel = clock.after(request.timeoutMs, () =>
      abandon('timeout', `no complete answer within ${formatDuration(request.timeoutMs)}`),
    );
    let leave = (): void => {};
    function end(): void {
      cancel();
      leave();
    }
    if (request.signal?.aborted) return giveUp();
    if (request.signal) leave = onAbort(request.signal, giveUp);
    send(route, request, abort).then(
      answer => {
        end();
        resolve(answer);
      },
      error => {
        end();
        reject(failureOf(error, named));
      },
    );
  });
}

function parseUrl(text: string): URL {
  try {
    return new URL(text);
  } catch {
    throw new HttpFailure('other', 'the address is malformed');
  }
}

async function send(route: Route, request: HttpRequest, signal: EventEmitter): Promise<HttpAnswer> {
  const { proxy, url } = route;
  const response = await dispatch(route, request, signal);
  // Inside a tunnel it would be the receiver's word.
  if (response.statusCode === 407 && proxy !== undefined && url.protocol === 'http:') {
    response.body.on('error', ignore).destroy();
    throw proxyRefusal(proxy.origin, 407, url.origin);
  }
  const { body, truncated } = await readBounded(decodeBody(response), request.maxAnswerBytes);
  return {
    status: response.statusCode,
    headers: flatten(response.headers),
    body: withoutCredentials(body, proxy),
    truncated,
  };
}

/** Pages of errors may show the request, and the caller does not know the credentials that the proxy got. */
function withoutCredentials(body: Buffer, proxy: ForwardProxy | undefined): Buffer {
  const credentials = proxy?.authorization?.replace(/^Basic /, '');
  if (credentials === undefined || !body.includes(credentials)) return body;
  // One character for each byte, so that what is no text stays as it is.
  return Buffer.from(body.toString('latin1').replaceAll(credentials, MASK), 'latin1');
}

function dispatch(
  { agents, url, proxy }: Route,
  request: HttpRequest,
  signal: EventEmitter,
): Promise<Dispatcher.ResponseData> {
  const { origin } = url;
  const path = url.pathname + url.search;
  const common = {
    method: request.method,
    headers: request.headers ?? {},
    body: request.body ?? null,
    reset: request.closesConnection === true,
    signal,
  };
  const skipsVerification = request.skipsVerification === true;
  const isRoundRobin = request.isRoundRobin === true;
  if (proxy === undefined)
    return agents
      .of({ skipsVerification, isRoundRobin, tls: request.tls })
      .request({ ...common, origin, path });
  const refusal = agents.refusal(url);
  if (refusal !== undefined) throw new ForbiddenAddress(refusal);
  if (url.protocol === 'https:')
    return agents.of({ skipsVerification, tunnel: proxy }).request({ ...common, origin, path });
  // RFC 9112 section 3.2.2: a proxy gets the whole address.
  return agents.of({ skipsVerification: false, isToProxy: true }).request({
    ...common,
    origin: proxy.origin,
    path: origin + path,
    headers: {
      host: url.host,
      ...request.headers,
      ...(proxy.authorization !== undefined && { 'proxy-authorization': proxy.authorization }),
    },
  });
}

function decodeBody(response: Dispatcher.ResponseData): Readable {
  const body = response.body.on('error', ignore);
  const encoding = String(response.headers['content-encoding'] ?? '').toLowerCase();
  if (encoding !== 'gzip' && encoding !== 'x-gzip') return body;
  return pipeline(body, createGunzip(), ignore);
}

/** Leaving the loop destroys the stream and with it the connection: an endless answer is not read on. */
async function readBounded(
  source: Readable,
  limit: number,
): Promise<{ readonly body: Buffer; readonly truncated: boolean }> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of source) {
    const bytes: Buffer = chunk;
    if (size + bytes.length > limit) {
      chunks.push(bytes.subarray(0, limit - size));
      return { body: Buffer.concat(chunks), truncated: true };
    }
    chunks.push(bytes);
    size += bytes.length;
  }
  return { body: Buffer.concat(chunks), truncated: false };
}

function flatten(headers: Dispatcher.ResponseData['headers']): Record<string, string> {
  const flat: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers))
    if (value !== undefined) flat[name] = typeof value === 'string' ? value : value.join(', ');
  return flat;
}
