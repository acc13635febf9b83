import type { FastifyInstance } from 'fastify';
import type { Monitor } from '../pipelines/monitor.ts';
import { ingestImpstats, ingestSamples, senderOf } from '../resources/samples/ingest.ts';
import { operatorsToken } from './authorization.ts';
import { readJsonBodies, readTextBodies } from './bodies.ts';

export const INGEST_ROUTES = [
  { method: 'POST', path: '/ingest/samples' },
  { method: 'POST', path: '/ingest/impstats' },
] as const;

const MOST_BYTES = 16 * 1024 * 1024;

/** Where engines that push send their statistics, each with its pipeline's token. */
export async function addIngest(scope: FastifyInstance, monitor: Monitor): Promise<void> {
  // Before the body is read: nobody unknown makes us parse megabytes.
  scope.addHook('onRequest', async request => {
    if (!request.is404) senderOf(monitor, operatorsToken(request));
  });
  await scope.register(async json => {
    readJsonBodies(json);
    json.post('/samples', { bodyLimit: MOST_BYTES }, async request =>
      ingestSamples(monitor, operatorsToken(request), request.body),
    );
  });
  await scope.register(async text => {
    readTextBodies(text);
    text.post<{ Querystring: { instance?: string | string[] } }>(
      '/impstats',
      { bodyLimit: MOST_BYTES },
      async request => {
        const { instance } = request.query;
        const body = typeof request.body === 'string' ? request.body : '';
        return ingestImpstats(
          monitor,
          operatorsToken(request),
          typeof instance === 'string' ? instance : undefined,
          body,
        );
      },
    );
  });
}
