import { EventEmitter } from 'node:events';
import { pipeline, type Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { Agent, buildConnector, type Dispatcher } from 'undici';
import { type AddressGuard, type AddressPolicy, createAddressGuard } from './address-guard.ts';
import type { Clock } from './clock.ts';
import { formatDuration } from './duration.ts';
import { guardedLookup, literalRefusal, type Resolve, resolveBySystem } from './guarded-lookup.ts';
import { type HttpAnswer, type HttpClient, HttpFailure, type HttpRequest } from './http.ts';
import { ForbiddenAddress, failureOf } from './http-failure.ts';
import { onAbort } from './on-abort.ts';

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
  const agent = new Agent({
    connections: options.connections ?? null,
    pipelining: 1,
    connect: guardedConnector(createAddressGuard(options), options.resolve ?? resolveBySystem),
    // The deadline of the whole exchange covers both.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  return {
    request: request => exchange(agent, request, options.clock),
    close: () => agent.destroy(),
  };
}

function guardedConnector(guard: AddressGuard, resolve: Resolve): buildConnector.connector {
  const connect = buildConnector({ timeout: CONNECT_TIMEOUT_MS, lookup: guardedLookup(guard, resolve) });
  return (target, done) => {
    const refusal = literalRefusal(guard, target.hostname);
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
