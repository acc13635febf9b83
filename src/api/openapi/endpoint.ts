import { readFileSync } from 'node:fs';
import type { FastifyInstance } from 'fastify';

export const OPENAPI_ROUTE = { method: 'GET', path: '/openapi.json' } as const;

/** Where it is generated to, or beside the bundle, where the build lays it. */
const FILE = new URL(
  import.meta.url.endsWith('.ts') ? '../../../openapi/openapi.json' : './openapi.json',
  import.meta.url,
);

/** The document of this very version, for whoever asks: it holds nothing that a reader of the sources does not know. */
export function addOpenApi(server: FastifyInstance): void {
  let document: Buffer | undefined;
  server.get(OPENAPI_ROUTE.path, async (_request, reply) => {
    document ??= readFileSync(FILE);
    return reply.type('application/json; charset=utf-8').header('cache-control', 'no-cache').send(document);
  });
}
