import { existsSync, readFileSync } from 'node:fs';
import type { FastifyInstance } from 'fastify';

export const OPENAPI_ROUTE = { method: 'GET', path: '/openapi.json' } as const;

/** Beside the bundle, where the build lays it, or where it is generated to. */
const PLACES = ['./openapi.json', '../../../openapi/openapi.json'].map(
  place => new URL(place, import.meta.url),
);

/** The document of this very version, for whoever asks: it holds nothing that a reader of the sources does not know. */
export function addOpenApi(server: FastifyInstance): void {
  let document: Buffer | undefined;
  server.get(OPENAPI_ROUTE.path, async (_request, reply) => {
    document ??= readFileSync(PLACES.find(existsSync) ?? PLACES[0] ?? '');
    return reply.type('application/json; charset=utf-8').header('cache-control', 'no-cache').send(document);
  });
}
