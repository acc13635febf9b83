import type { FastifyInstance, FastifyRequest } from 'fastify';
import { AppError } from '../lib/errors.ts';
import { parseJson } from '../lib/json.ts';

/** Reads JSON strictly; a Content-Type of JSON with no body at all is accepted. */
export function readJsonBodies(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser(
    'application/json',
    { parseAs: 'buffer' },
    async (request: FastifyRequest, body: Buffer) => {
      assertUtf8(request);
      const text = decoded(body);
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
const READ_HERE = ['utf-8', 'utf8', 'us-ascii'];

/** Whoever names another encoding means another text than would be read. */
export function assertUtf8({ headers }: FastifyRequest): void {
  const charset = CHARSET.exec(headers['content-type'] ?? '')?.[1];
  if (charset !== undefined && !READ_HERE.includes(charset.toLowerCase()))
    throw new AppError('unsupported-media-type', `The body must be UTF-8, not '${charset.slice(0, 40)}'`);
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Without its byte order mark. Nothing stands in for what is no text: two bodies would become one. */
export function decoded(body: Buffer): string {
  try {
    return utf8.decode(body);
  } catch {
    throw new AppError('invalid-request', 'The body is not valid UTF-8');
  }
}
