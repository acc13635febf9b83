import type { FastifyInstance, FastifyRequest } from 'fastify';
import { AppError } from '../lib/errors.ts';
import type { HttpForward } from '../lib/http/forward.ts';
import { parseJson } from '../lib/json.ts';
import { Secret } from '../lib/secret.ts';
import type { WorkspaceOf } from './served-workspace.ts';

/** Node keeps the first of two Authorization headers in silence; two readers could then see two callers. */
export function authorizationOf(request: FastifyRequest): string | undefined {
  const names = request.raw.rawHeaders.filter((_, index) => index % 2 === 0);
  if (names.filter(name => name.toLowerCase() === 'authorization').length > 1)
    throw new AppError('invalid-request', 'The request has more than one Authorization header');
  return request.headers.authorization;
}

/** Tokens that operators choose, for ingest and metrics: any visible characters. */
const BEARER = /^Bearer[ \t]+([\x21-\x7e]{1,4096})$/i;

export function bearerToken(request: FastifyRequest): Secret | undefined {
  const token = BEARER.exec(authorizationOf(request) ?? '')?.[1];
  return token === undefined ? undefined : new Secret(token);
}

/** Reads JSON strictly; a Content-Type of JSON with no body at all is accepted. */
export function readJsonBodies(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser(
    'application/json',
    { parseAs: 'buffer' },
    async (request: FastifyRequest, body: Buffer) => {
      assertUtf8(request);
      const text = decodeUtf8(body);
      return text === '' ? undefined : parseJson(text);
    },
  );
}

/** Hands over text; a byte that is none, as in old names of files, does not cost the lines around it. */
export function readTextBodies(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser(
    ['application/json', 'application/x-ndjson', 'text/plain'],
    { parseAs: 'string' },
    async (request: FastifyRequest, body: string) => {
      assertUtf8(request);
      return body;
    },
  );
}

/** Hands over bytes as they came. */
export function readBinaryBodies(scope: FastifyInstance, types: string[]): void {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser(types, { parseAs: 'buffer' }, async (_request: unknown, body: Buffer) => body);
}

const CHARSET = /;\s*charset\s*=\s*"?([^\s";]*)/i;
/** JSON is UTF-8 (RFC 8259 section 8.1), of which ASCII is a part. */
const ACCEPTED_CHARSETS = ['utf-8', 'utf8', 'us-ascii'];

/** Whoever names another encoding means another text than would be read. */
export function assertUtf8({ headers }: FastifyRequest): void {
  const charset = CHARSET.exec(headers['content-type'] ?? '')?.[1];
  if (charset !== undefined && !ACCEPTED_CHARSETS.includes(charset.toLowerCase()))
    throw new AppError('unsupported-media-type', `The body must be UTF-8, not '${charset.slice(0, 40)}'`);
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Without its byte order mark. Nothing stands in for what is no text: two bodies would become one. */
export function decodeUtf8(body: Buffer): string {
  try {
    return utf8.decode(body);
  } catch {
    throw new AppError('invalid-request', 'The body is not valid UTF-8');
  }
}

/** A row of what exists: a method and a path with `:name` places. */
interface KnownRoute {
  readonly method: string;
  readonly path: string;
}

/** What is unknown is 404; a known path with another method is 405 and says which it has. */
export function addNotFound(
  scope: FastifyInstance,
  prefix: string,
  knownRoutes: readonly KnownRoute[],
): void {
  const patterns = knownRoutes.map(row => ({
    methods: row.method === 'GET' ? ['GET', 'HEAD'] : [row.method],
    pattern: new RegExp(`^${prefix}${row.path.replace(/:[a-z]+/g, '[^/]+')}$`),
  }));
  scope.setNotFoundHandler((request, reply) => {
    const path = request.url.split('?', 1)[0] ?? '';
    const allowed = patterns.filter(row => row.pattern.test(path)).flatMap(row => row.methods);
    if (allowed.length === 0) throw new AppError('not-found', 'There is nothing at this path');
    void reply.header('allow', allowed.join(', '));
    throw new AppError('method-not-allowed', `This path takes ${allowed.join(', ')}`);
  });
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether only the process that leads can answer. */
    readonly isLive?: boolean;
  }
}

/** Where what this process cannot answer is answered. */
export interface Forwarding {
  /** Id of this process, for the others. */
  readonly node: string;
  readonly tenantOf: WorkspaceOf;
  readonly http: HttpForward;
}

/** Names the process that sent a request on. */
const FORWARDED_HEADER = 'x-headgate-forwarded';

/**
 * Requests that only the leading process can answer go there as they came, before anything of them is read. Hooks that
 * were added to the scope before have refused by then what any process can refuse: a server that answers while a body
 * is still on its way breaks the connection, and its answer may be lost.
 */
export function forwardToLeader(scope: FastifyInstance, { node, tenantOf, http }: Forwarding): void {
  scope.addHook('onRequest', async (request, reply) => {
    if (request.is404 || request.routeOptions.config.isLive !== true) return;
    const origin = await tenantOf(request).leaderUrl();
    if (origin === undefined) return;
    if (Number(request.headers['content-length'] ?? 0) > (request.routeOptions.bodyLimit ?? 0))
      throw new AppError('body-too-large', 'The request body is too large');
    // Two that each take the other for the leading one must not send a request to and fro.
    if (request.headers[FORWARDED_HEADER] !== undefined)
      throw new AppError('unavailable', 'this process does not lead any more', { retryAfterSeconds: 1 });
    const headers = {
      [FORWARDED_HEADER]: node,
      'x-request-id': request.id,
      // What the caller says of itself must not reach a process that trusts this one.
      'x-forwarded-for': request.ip,
      'x-forwarded-proto': request.protocol,
      'x-forwarded-host': request.host,
    };
    await http.forward({ incoming: request.raw, outgoing: reply.raw, origin, headers });
    return reply.hijack();
  });
}
