import { EventEmitter } from 'node:events';
import { pipeline, type Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import type { Dispatcher } from 'undici';
import type { Clock } from '../clock.ts';
import { onAbort } from '../on-abort.ts';
import { MASK } from '../secret.ts';
import { type Agents, createAgents } from './agents.ts';
import type { Egress } from './egress.ts';
import { ForbiddenAddress, failureOf, HttpFailure } from './failure.ts';
import { type AddressPolicy, type Resolve, resolveBySystem } from './guard.ts';
import { type HttpStep, type ProgressOptions, RequestProgress } from './progress.ts';
import type { ForwardProxy, Proxies } from './proxy.ts';
import { type ClientTls, proxyRefusal } from './tunnel.ts';

export interface HttpRequest {
  readonly url: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  /** For the whole exchange, connecting and reading the body included. */
  readonly timeoutMs: number;
  /** For steps of it; one that is left out has the time of the whole. */
  readonly timeouts?: Partial<HttpTimeouts> | undefined;
  /** Bytes of the answer that are read and no further; what is over sets `truncated`. */
  readonly maxAnswerBytes: number;
  /** True accepts a certificate that no trusted authority has signed. */
  readonly skipsVerification?: boolean;
  /** Certificates that are shown to the receiver and trusted over https. */
  readonly tls?: ClientTls | undefined;
  /** True when the connection serves no other request. */
  readonly closesConnection?: boolean;
  /** True goes through the proxy of the environment, where there is one for the address. */
  readonly proxied?: boolean;
  /** Goes through this proxy, whatever the environment says. */
  readonly proxy?: ForwardProxy | undefined;
  /** True connects to the addresses of the host in turn. Without effect through a proxy. */
  readonly isRoundRobin?: boolean;
  readonly signal?: AbortSignal;
}

/** Milliseconds. */
type HttpTimeouts = Readonly<Record<HttpStep, number>>;

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
      const ofEnvironment = request.proxied ? options.proxies?.proxyFor(url) : undefined;
      const proxy = request.proxy ?? ofEnvironment;
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

/** What was being done, for the reason of a time-out. */
const DOING: Readonly<Record<HttpStep, string>> = {
  connect: 'connecting',
  write: 'writing the request',
  firstByte: 'waiting for the first byte of the answer',
  body: 'reading the answer',
};

/**
 * Races the answer against the clock and the caller. undici hears an abort only once the request has a connection, so a
 * look-up that hangs is left behind here. An emitter is its cheapest signal.
 */
async function exchange(route: Route, request: HttpRequest, clock: Clock): Promise<HttpAnswer> {
  const { origin } = route.url;
  const { timeouts, timeoutMs } = request;
  const named = route.proxy === undefined ? origin : `${origin} through the proxy ${route.proxy.origin}`;
  const abort = new EventEmitter();
  return new Promise((resolve, reject) => {
    const abandon = (reason: 'timeout' | 'aborted', text: string): void => {
      end();
      reject(new HttpFailure(reason, `${named}: ${text}`, undefined, progress.isWritten));
      abort.emit('abort');
    };
    const giveUp = (): void => abandon('aborted', 'the request was given up');
    const timeOut = (ms: number): void =>
      abandon('timeout', `timed out after ${ms / 1000} s ${DOING[progress.step]}`);
    const cancel = clock.after(timeoutMs, () => timeOut(timeoutMs));
    let isOver = false;
    let cancelStep = ignore;
    const time = (step: HttpStep): void => {
      if (isOver) return;
      cancelStep();
      const ms = timeouts?.[step] ?? timeoutMs;
      cancelStep = ms < timeoutMs ? clock.after(ms, () => timeOut(ms)) : ignore;
    };
    const progress = new RequestProgress(time);
    time(progress.step);
    let leave = ignore;
    function end(): void {
      cancel();
      cancelStep();
      isOver = true;
      leave();
    }
    if (request.signal?.aborted) return giveUp();
    if (request.signal) leave = onAbort(request.signal, giveUp);
    sendOnceMore(route, request, { signal: abort, progress }).then(
      answer => {
        end();
        resolve(answer);
      },
      error => {
        end();
        reject(failureOf(error, named, progress.isWritten));
      },
    );
  });
}

interface Sending {
  readonly signal: EventEmitter;
  readonly progress: RequestProgress;
  /** On a connection that served no request before. */
  readonly isFresh?: boolean;
}

/**
 * A receiver may close a connection that stands idle right when a request is written to it, which is seen as a reset. The
 * request is sent again then, once, on a fresh connection (RFC 9110 section 9.2.2).
 */
async function sendOnceMore(route: Route, request: HttpRequest, sending: Sending): Promise<HttpAnswer> {
  const { progress } = sending;
  try {
    return await send(route, request, sending);
  } catch (error) {
    if (!progress.isUnansweredOnReused || failureOf(error, '').reason !== 'reset') throw error;
    progress.restart();
    return send(route, request, { ...sending, isFresh: true });
  }
}

function parseUrl(text: string): URL {
  try {
    return new URL(text);
  } catch {
    throw new HttpFailure('other', 'the address is malformed');
  }
}

async function send(route: Route, request: HttpRequest, sending: Sending): Promise<HttpAnswer> {
  const { proxy, url } = route;
  const response = await dispatch(route, request, sending);
  // Inside a tunnel it would be the receiver's word.
  if (response.statusCode === 407 && proxy !== undefined && url.protocol === 'http:') {
    response.body.on('error', ignore).destroy();
    throw proxyRefusal(proxy, 407, url.origin);
  }
  const { body, truncated } = await readBody(response, request.maxAnswerBytes);
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
  { signal, progress, isFresh = false }: Sending,
): Promise<Dispatcher.ResponseData> {
  const { origin } = url;
  const path = url.pathname + url.search;
  const common: Omit<Dispatcher.RequestOptions, 'path'> & ProgressOptions = {
    method: request.method,
    headers: request.headers ?? {},
    body: request.body ?? null,
    reset: isFresh || request.closesConnection === true,
    signal,
    progress,
  };
  const { connect = request.timeoutMs } = request.timeouts ?? {};
  // In whole seconds, as connections are shared by those that wait as long.
  const connectMs = Math.ceil(Math.min(connect, request.timeoutMs) / 1000) * 1000;
  const skipsVerification = request.skipsVerification === true;
  const isRoundRobin = request.isRoundRobin === true;
  if (proxy === undefined)
    return agents
      .of({ skipsVerification, isRoundRobin, tls: request.tls, isFresh, connectMs })
      .request({ ...common, origin, path });
  const refusal = agents.refusal(url);
  if (refusal !== undefined) throw new ForbiddenAddress(refusal);
  if (url.protocol === 'https:')
    return agents
      .of({ skipsVerification, tunnel: proxy, tls: request.tls, isFresh, connectMs })
      .request({ ...common, origin, path });
  // RFC 9112 section 3.2.2: a proxy gets the whole address.
  return agents.of({ skipsVerification: false, isToProxy: proxy, isFresh }).request({
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

/** An answer of these has no body, whatever length its headers give (RFC 9112 section 6.3), and undici would miss it. */
const WITHOUT_BODY: ReadonlySet<number> = new Set([204, 304]);

async function readBody(response: Dispatcher.ResponseData, limit: number): Promise<BoundedBody> {
  if (!WITHOUT_BODY.has(response.statusCode) || !Number(response.headers['content-length']))
    return readBounded(decodeBody(response), limit);
  response.body.on('error', ignore).destroy();
  return { body: Buffer.alloc(0), truncated: false };
}

function decodeBody(response: Dispatcher.ResponseData): Readable {
  const body = response.body.on('error', ignore);
  const encoding = String(response.headers['content-encoding'] ?? '').toLowerCase();
  if (encoding !== 'gzip' && encoding !== 'x-gzip') return body;
  return pipeline(body, createGunzip(), ignore);
}

type BoundedBody = Pick<HttpAnswer, 'body' | 'truncated'>;

/** Leaving the loop destroys the stream and with it the connection: an endless answer is not read on. */
async function readBounded(source: Readable, limit: number): Promise<BoundedBody> {
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
