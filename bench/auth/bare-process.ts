import { readFileSync } from 'node:fs';
import { fastify } from 'fastify';

/** The floor of an answer: the same objects, written anew for each request, to whoever asks. Argument: a file of JSON. */
const objects: unknown = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8'));
const server = fastify();
server.get('/', async (_request, reply) =>
  reply.type('application/json; charset=utf-8').send(JSON.stringify(objects)),
);
const origin = await server.listen({ port: 0, host: '127.0.0.1' });
process.stdout.write(`ready on ${origin}\n`);
