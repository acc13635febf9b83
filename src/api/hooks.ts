import type { FastifyInstance, FastifyRequest } from 'fastify';
import { AppError } from '../lib/errors.ts';
import type { HttpForward } from '../lib/http/forward.ts';
import { type JsonOptions, parseJsonInSlices } from '../lib/json.ts';
import { Secret } from '../lib/secret.ts';
import { inSlices } from '../lib/slices.ts';
import { decodeContent } from './content-encoding.ts';
import type { HostRule } from './hosts.ts';
import type { RouteAnswerer } from './route.ts';
import type { WorkspaceOf } from './served-workspace.ts';

/** Throws `invalid-request` for two headers: Node silently keeps the first, so two readers could see two callers. */
export function authorizationOf(request: FastifyRequest): string | undefined {
  const names = request.raw.rawHeaders.filter((_, index) => index % 2 === 0);
  if (names.filter(name => name.toLowerCase() === 'authorization').length > 1)
    throw new AppError('invalid-request', 'The request has more than one Authorization header');
  return request.headers.authorization;
}

/** Operators choose the tokens for ingest and metrics: any visible characters. */
const BEARER = /^Bearer[ \t]+([\x21-\x7e]{1,4096})$/i;

export function bearerToken(request: FastifyRequest): Secret | undefined {
  const token = BEARER.exec(authorizationOf(request) ?? '')?.[1];
  return token === undefined ? undefined : new Secret(token);
}

/** Values in a body of the API, of which there is one in each request for one thing. */
const MOST_VALUES = 50_000;

interface BodyOptions {
  /** Bytes of a body that comes packed with gzip; none may when left out. */
  readonly mostUnpacked?: number;
  /** Hears of the bytes of each body, unpacked, before they are parsed. */
  readonly onBody?: (request: FastifyRequest, bytes: number) => void;
}

/** Reads JSON strictly; a Content-Type of JSON with no body at all is accepted. */
export function readJsonBodies(
  scope: FastifyInstance,
  { onBody = () => {}, mostUnpacked, mostValues = MOST_VALUES, numbers }: JsonOptions & BodyOptions = {},
): void {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser(
    'application/json',
    { parseAs: 'buffer' },
    async (request: FastifyRequest, body: Buffer) => {
      assertUtf8(request);
      const decoded = await decodeContent(request, body, mostUnpacked);
      onBody(request, decoded.length);
      const text = decodeUtf8(decoded);
      return text === '' ? undefined : inSlices(parseJsonInSlices(text, { mostValues, numbers }));
    },
  );
  refuseOtherTypes(scope, ['application/json']);
}

/** Refuses every other type of a body, and says which came and which are read. */
function refuseOtherTypes(scope: FastifyInstance, types: readonly string[]): void {
  scope.addContentTypeParser('*', async ({ headers, is404 }: FastifyRequest) => {
    // Whether there is such a path comes before what it would read.
    if (is404) return undefined;
    const sent = headers['content-type'];
    const what =
      sent === undefined
        ? 'The body has no Content-Type'
        : `The Content-Type '${sent.slice(0, 100)}' is not read here`;
    throw new AppError('unsupported-media-type', `${what}; send ${types.join(' or ')}`);
  });
}

/** Hands over text. An invalid byte, as in old names of files, is replaced and does not lose the lines around it. */
export function readTextBodies(
  scope: FastifyInstance,
  { onBody = () => {}, mostUnpacked }: BodyOptions = {},
): void {
  scope.removeAllContentTypeParsers();
  const types = ['application/json', 'application/x-ndjson', 'text/plain'];
  refuseOtherTypes(scope, types);
  scope.addContentTypeParser(types, { parseAs: 'buffer' }, async (request: FastifyRequest, body: Buffer) => {
    assertUtf8(request);
    const decoded = await decodeContent(request, body, mostUnpacked);
    onBody(request, decoded.length);
    return decoded.toString();
  });
}

/** Hands over bytes unchanged. */
export function readBinaryBodies(scope: FastifyInstance, types: string[]): void {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser(types, { parseAs: 'buffer' }, async (_request: unknown, body: Buffer) => body);
  refuseOtherTypes(scope, types);
}

const CHARSET = /;\s*charset\s*=\s*"?([^\s";]*)/i;
/** JSON is UTF-8 (RFC 8259 section 8.1), of which ASCII is a part. */
const ACCEPTED_CHARSETS = ['utf-8', 'utf8', 'us-ascii'];

/** Throws for another encoding, in which the same bytes are another text. */
export function assertUtf8({ headers }: FastifyRequest): void {
  const charset = CHARSET.exec(headers['content-type'] ?? '')?.[1];
  if (charset !== undefined && !ACCEPTED_CHARSETS.includes(charset.toLowerCase()))
    throw new AppError('unsupported-media-type', `The body must be UTF-8, not '${charset.slice(0, 40)}'`);
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Drops the byte order mark. Throws for invalid bytes: with replacements two bodies could become one. */
export function decodeUtf8(body: Buffer): string {
  try {
    return utf8.decode(body);
  } catch {
    throw new AppError('invalid-request', 'The body is not valid UTF-8');
  }
}

/** `path` has `:name` parameters. */
interface KnownRoute {
  readonly method: string;
  readonly path: string;
}

/**
 * Answers 404 for an unknown path, by what `whyNot` knows of it below the prefix, and 405 with the allowed methods for a
 * known one.
 */
export function addNotFound(
  scope: FastifyInstance,
  prefix: string,
  knownRoutes: readonly KnownRoute[],
  whyNot: (path: string) => AppError | undefined = () => undefined,
): void {
  const patterns = knownRoutes.map(row => ({
    methods: row.method === 'GET' ? ['GET', 'HEAD'] : [row.method],
    pattern: new RegExp(`^${prefix}${row.path.replace(/:[a-z]+/g, '[^/]+')}$`),
  }));
  scope.setNotFoundHandler((request, reply) => {
    const path = (request.url.split('?', 1)[0] ?? '').replace(/(?<=.)\/$/, '');
    const allowed = patterns.filter(row => row.pattern.test(path)).flatMap(row => row.methods);
    if (allowed.length === 0)
      throw whyNot(path.slice(prefix.length)) ?? new AppError('not-found', 'There is nothing at this path');
    void reply.header('allow', allowed.join(', '));
    throw new AppError('method-not-allowed', `This path takes ${allowed.join(', ')}`);
  });
}

declare module 'fastify' {
  interface FastifyContextConfig {
    readonly isLive?: RouteAnswerer;
  }
}

/** Sends requests on that only the leading process can answer. */
export interface Forwarding {
  /** Id of this process. */
  readonly node: string;
  readonly tenantOf: WorkspaceOf;
  readonly hosts: Pick<HostRule, 'isOwn'>;
  readonly http: HttpForward;
}

/** Names the process that forwarded a request. */
const FORWARDED_HEADER = 'x-headgate-forwarded';

/**
 * Forwards requests that only the leading process can answer, before their body is read. Hooks that the scope had
 * before have refused by then what any process can refuse: a server that answers while a body is still on its way
 * breaks the connection, and its answer may be lost.
 */
export function forwardToLeader(scope: FastifyInstance, { node, tenantOf, hosts, http }: Forwarding): void {
  scope.addHook('onRequest', async (request, reply) => {
    const { isLive = false } = request.routeOptions.config;
    if (request.is404 || isLive === false) return;
    const origin = await leaderFor(tenantOf(request), isLive);
    if (origin === undefined) return;
    if (Number(request.headers['content-length'] ?? 0) > (request.routeOptions.bodyLimit ?? 0))
      throw new AppError('body-too-large', 'The request body is too large');
    // Two processes that each believe the other leads must not forward a request in circles.
    if (request.headers[FORWARDED_HEADER] !== undefined && isLive === 'while-led') return;
    if (request.headers[FORWARDED_HEADER] !== undefined)
      throw new AppError('unavailable', 'this process does not lead any more', {
        isForCaller: true,
        retryAfterSeconds: 1,
      });
    const host = hosts.isOwn(request.host) ? new URL(origin).host : request.host;
    const headers = {
      host,
      [FORWARDED_HEADER]: node,
      'x-request-id': request.id,
      // Headers of the caller must not reach a process that trusts this one.
      'x-forwarded-for': request.ip,
      'x-forwarded-proto': request.protocol,
      'x-forwarded-host': host,
    };
    try {
      await http.forward({ incoming: request.raw, outgoing: reply.raw, origin, headers });
    } catch (error) {
      // One that was killed leads by its lease for some seconds yet, and the store can answer as well.
      if (isLive === 'while-led' && isUnavailable(error)) return;
      throw error;
    }
    return reply.hijack();
  });
}

/** Undefined when this process answers itself. */
async function leaderFor(
  { leaderUrl }: ReturnType<WorkspaceOf>,
  isLive: RouteAnswerer,
): Promise<string | undefined> {
  try {
    return await leaderUrl();
  } catch (error) {
    if (isLive === 'while-led' && isUnavailable(error)) return undefined;
    throw error;
  }
}

const isUnavailable = (error: unknown): boolean => error instanceof AppError && error.code === 'unavailable';
