import { readFileSync } from 'node:fs';
import type { FastifyInstance } from 'fastify';

export const OPENAPI_ROUTE = { method: 'GET', path: '/openapi.json' } as const;

/** The generated file, or its copy beside the bundle. */
const FILE = new URL(
  import.meta.url.endsWith('.ts') ? '../../../openapi/openapi.json' : './openapi.json',
  import.meta.url,
);

/** Serves the document of this version to everybody: it holds nothing secret. */
export function addOpenApi(server: FastifyInstance): void {
  let document: Buffer | undefined;
  server.get(OPENAPI_ROUTE.path, async (_request, reply) => {
    document ??= readFileSync(FILE);
    return reply.type('application/json; charset=utf-8').header('cache-control', 'no-cache').send(document);
  });
}
