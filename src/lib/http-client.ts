import { type LookupAddress, lookup } from 'node:dns';
import { EventEmitter } from 'node:events';
import { isIP, type LookupFunction } from 'node:net';
import { pipeline, type Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { Agent, buildConnector, type Dispatcher } from 'undici';
import { type AddressGuard, type AddressPolicy, createAddressGuard } from './address-guard.ts';
import type { Clock } from './clock.ts';
import { formatDuration } from './duration.ts';
import { type HttpAnswer, type HttpClient, HttpFailure, type HttpRequest } from './http.ts';
import { ForbiddenAddress, failureOf } from './http-failure.ts';
import { onAbort } from './on-abort.ts';

/** All addresses of a name. */
export type Resolve = (
  hostname: string,
  done: (error: NodeJS.ErrnoException | null, addresses: readonly LookupAddress[]) => void,
) => void;

interface Options extends AddressPolicy {
  /** Connections to one origin; a request more waits, its time limit running. Left out, each request has one: who asks bounds them. */
  readonly connections?: number;
  readonly clock: Clock;
  readonly resolve?: Resolve;
}

const CONNECT_TIMEOUT_MS = 10_000;
const ignore = (): void => {};

/** Throws `invalid-request` for an item of `allowedAddresses` that is no address and no range. */
export function createHttpClient(options: Options): HttpClient {
  const guard = createAddressGuard(options);
  const agentFor = (rejectUnauthorized: boolean): Agent =>
    new Agent({
      connections: options.connections ?? null,
      pipelining: 1,
      connect: guardedConnector(guard, options.resolve ?? resolveBySystem, rejectUnauthorized),
      // The deadline of the whole exchange covers both.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
  const agent = agentFor(true);
  // Apart, so that no connection to somebody unknown is ever used by who asks for a certificate.
  const trusting = agentFor(false);
  return {
    request: request => exchange(request.trustsAnyone ? trusting : agent, request, options.clock),
    async close() {
      await Promise.all([agent.destroy(), trusting.destroy()]);
    },
  };
}

const resolveBySystem: Resolve = (hostname, done) =>
  lookup(hostname, { all: true }, (error, addresses) => done(error, addresses));

/**
 * Judges addresses where the socket is made, after the only look-up there is: what was judged is what is connected to, and
 * a name whose answer changes has no gap. One forbidden address among several refuses the name.
 */
function guardedConnector(
  guard: AddressGuard,
  resolve: Resolve,
  rejectUnauthorized: boolean,
): buildConnector.connector {
  const guardedLookup: LookupFunction = (hostname, options, done) =>
    resolve(hostname, (error, addresses) => {
      if (error) return done(error, []);
      const refusal = addresses.map(one => guard.refusal(one.address)).find(text => text !== undefined);
      const first = addresses[0];
      if (refusal !== undefined) return done(new ForbiddenAddress(refusal), []);
      if (first === undefined) return done(Object.assign(new Error('no address'), { code: 'ENODATA' }), []);
      if (options.all) return done(null, [...addresses]);
      done(null, first.address, first.family);
    });
  const connect = buildConnector({ timeout: CONNECT_TIMEOUT_MS, lookup: guardedLookup, rejectUnauthorized });
  return (target, done) => {
    const refusal = isIP(target.hostname) === 0 ? undefined : guard.refusal(target.hostname);
    if (refusal === undefined) connect(target, done);
    else done(new ForbiddenAddress(refusal), null);
  };
}

/**
 * Races the answer against the clock and the caller. undici hears an abort only once the request has a connection, so a
 * look-up that hangs is left behind here. An emitter is its cheapest signal.
 */
async function exchange(agent: Agent, request: HttpRequest, clock: Clock): Promise<HttpAnswer> {
  const url = parseUrl(request.url);
  const abort = new EventEmitter();
  return new Promise((resolve, reject) => {
    const abandon = (reason: 'timeout' | 'aborted', text: string): void => {
      end();
      reject(new HttpFailure(reason, `${url.origin}: ${text}`));
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
    send(agent, url, request, abort).then(
      answer => {
        end();
        resolve(answer);
      },
      error => {
        end();
        reject(failureOf(error, url.origin));
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

async function send(agent: Agent, url: URL, request: HttpRequest, signal: EventEmitter): Promise<HttpAnswer> {
  const response = await agent.request({
    origin: url.origin,
    path: url.pathname + url.search,
    method: request.method,
    headers: request.headers ?? {},
    body: request.body ?? null,
    reset: request.closes === true,
    signal,
  });
  const read = await readBounded(decoded(response), request.maxAnswerBytes);
  return { status: response.statusCode, headers: flatten(response.headers), ...read };
}

function decoded(response: Dispatcher.ResponseData): Readable {
  const body = response.body.on('error', ignore);
  const encoding = String(response.headers['content-encoding'] ?? '').toLowerCase();
  if (encoding !== 'gzip' && encoding !== 'x-gzip') return body;
  return pipeline(body, createGunzip(), ignore);
}

/** Leaving the loop destroys the stream and with it the connection: the rest of an endless answer is not ours to read. */
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
