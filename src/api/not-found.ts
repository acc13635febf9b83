import type { FastifyInstance } from 'fastify';
import { AppError } from '../lib/errors.ts';

/** A row of what exists: a method and a path with `:name` places. */
interface Known {
  readonly method: string;
  readonly path: string;
}

/** What is unknown is 404; a known path with another method is 405 and says which it has. */
export function addNotFound(scope: FastifyInstance, prefix: string, known: readonly Known[]): void {
  const patterns = known.map(row => ({
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
