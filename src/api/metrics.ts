import { isIP } from 'node:net';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Gauge, Registry } from 'prom-client';
import { digestOf, isSameDigest } from '../lib/digest.ts';
import { AppError } from '../lib/errors.ts';
import type { Secret } from '../lib/secret.ts';
import type { House } from '../resources/verb.ts';
import { DELIVERY_STATES } from '../storage/tables.ts';
import { operatorsToken } from './authorization.ts';

export const METRICS_ROUTE = { method: 'GET', path: '/metrics' } as const;

const COUNT_ONLY = { offset: 0, limit: 1 } as const;
/** States whose number says something now; what was sent or skipped is history. */
const TOLD_STATES = DELIVERY_STATES.filter(state => state !== 'sent' && state !== 'skipped');

/** How this installation is, as Prometheus text. Everything is read when somebody asks. */
export function addMetrics(server: FastifyInstance, house: House, token: () => Secret | undefined): void {
  const registry = new Registry();
  const gauge = <Label extends string>(
    name: string,
    help: string,
    labelNames: readonly Label[],
    collect: (gauge: Gauge<Label>) => void | Promise<void>,
  ): Gauge<Label> =>
    new Gauge({
      name: `headgate_${name}`,
      help,
      labelNames,
      registers: [registry],
      collect() {
        this.reset();
        return collect(this);
      },
    });

  gauge('configuration_ok', '1 while the files on disk are in force, 0 while they have errors.', [], one =>
    one.set(house.configurationStatus().state === 'ok' ? 1 : 0),
  );
  gauge('configuration_loaded_timestamp_seconds', 'When the configuration in force was read.', [], one =>
    one.set(Date.parse(house.configuration().loadedAt) / 1000),
  );
  gauge('pipeline_reachable', '1 while the pipeline can be read, 0 while it cannot.', ['pipeline'], one => {
    for (const { id, state } of house.components.pipelines())
      if (state !== 'waiting') one.set({ pipeline: id }, state === 'reachable' ? 1 : 0);
  });
  gauge('components', 'Inputs and outputs that are known.', ['kind'], one => {
    for (const kind of ['input', 'output'] as const) one.set({ kind }, 0);
    for (const { kind } of house.components.all()) one.inc({ kind });
  });
  gauge('incidents_open', 'Incidents that are open.', [], async one =>
    one.set((await house.stores.incidents.list({ state: 'open' }, COUNT_ONLY)).total),
  );
  gauge('deliveries', 'Deliveries that wait, were refused, or were given up.', ['state'], async one => {
    for (const state of TOLD_STATES)
      one.set({ state }, (await house.stores.deliveries.list({ state }, COUNT_ONLY)).total);
  });

  server.get(METRICS_ROUTE.path, async (request, reply) => {
    assertMayRead(request, token());
    return reply.type(registry.contentType).send(await registry.metrics());
  });
}

/** Open to this machine itself; a proxy's requests come from here as well and carry whom they are for. */
function assertMayRead(request: FastifyRequest, token: Secret | undefined): void {
  const isForwarded = 'x-forwarded-for' in request.headers || 'forwarded' in request.headers;
  if (token === undefined && isLoopback(request.ip) && !isForwarded) return;
  const shown = operatorsToken(request)?.reveal();
  if (token === undefined || shown === undefined || !isSame(shown, token.reveal()))
    throw new AppError('unauthenticated', 'Metrics need the token of metrics.token as Authorization: Bearer');
}

const isLoopback = (address: string): boolean => {
  const plain = address.replace(/^::ffff:/, '');
  return plain === '::1' || (isIP(plain) === 4 && plain.startsWith('127.'));
};

const isSame = (shown: string, token: string): boolean => isSameDigest(digestOf(shown), digestOf(token));
