import type { FastifyInstance } from 'fastify';
import { parseJson } from '../lib/json.ts';

/** Reads JSON strictly; a Content-Type of JSON with no body at all is accepted. */
export function readJsonBodies(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser(
    'application/json',
    { parseAs: 'string' },
    async (_request: unknown, body: string) => (body === '' ? undefined : parseJson(body)),
  );
}

/** Hands over text as it came. */
export function readTextBodies(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser(
    ['application/json', 'application/x-ndjson', 'text/plain'],
    { parseAs: 'string' },
    async (_request: unknown, body: string) => body,
  );
}

/** Hands over bytes as they came. */
export function readBinaryBodies(scope: FastifyInstance, types: string[]): void {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser(types, { parseAs: 'buffer' }, async (_request: unknown, body: Buffer) => body);
}
