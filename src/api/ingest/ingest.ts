import type { FastifyInstance, FastifyRequest } from 'fastify';
import * as z from 'zod';
import { AppError } from '../../lib/errors.ts';
import { externalEventsSchema } from '../../notifications/external-events.ts';
import { samplesSchema } from '../../pipelines/parsers/samples.ts';
import { ingestEvents, ingestImpstats, ingestSamples, senderOf } from '../../resources/ingest.ts';
import type { CallLimits } from '../call-limits.ts';
import { asAppError } from '../errors.ts';
import { bearerToken, type Forwarding, forwardToLeader, readJsonBodies, readTextBodies } from '../hooks.ts';
import type { Operation } from '../operation.ts';
import { ingestEndpointOf, type ServedWorkspace, type WorkspaceOf } from '../served-workspace.ts';
import {
  addPointRoutes,
  type ChargeBody,
  MOST_BYTES,
  otlpOperation,
  remoteWriteOperation,
} from './points.ts';

export const INGEST_PREFIX = '/ingest';

const accepted = z.int().min(0).describe('How many were taken. They are in memory, not on disk.');
const ingestRoute = {
  method: 'POST',
  access: 'pipeline',
  params: {},
  takesIfMatch: false,
  hasEtag: false,
  errors: [],
} as const;

const samplesOperation: Operation = {
  ...ingestRoute,
  id: 'ingest.samples',
  path: '/ingest/samples',
  summary: 'Take samples of a custom pipeline that pushes; all of them or none',
  query: {},
  body: { kind: 'whole', shape: { name: 'Samples', schema: samplesSchema }, isRequired: true },
  answer: {
    kind: 'object',
    shape: {
      name: 'SamplesTaken',
      schema: z.object({
        accepted,
        rejected: z
          .int()
          .min(1)
          .optional()
          .describe(
            'How many increases were not counted, as their time may have been. Left out when there are none.',
          ),
      }),
    },
  },
  example: {
    body: {
      instance: 'edge-1',
      temporality: 'delta',
      samples: [
        { kind: 'input', type: 'syslog', id: 'app', metric: 'in_events', value: 1840 },
        { kind: 'input', type: 'syslog', id: 'app', metric: 'in_bytes', value: 262_144 },
        { kind: 'output', type: 's3', id: 'lake', metric: 'out_events', value: 1838 },
      ],
    },
  },
};

const impstatsOperation: Operation = {
  ...ingestRoute,
  id: 'ingest.impstats',
  path: '/ingest/impstats',
  summary: 'Take statistics of an rsyslog pipeline, as rsyslog writes them',
  query: { instance: z.string().optional().describe('Which host they are of.') },
  body: {
    kind: 'text',
    shape: {
      name: 'Impstats',
      schema: z.string().describe('Lines of JSON, text before the first { is cut.'),
    },
    isRequired: true,
  },
  answer: {
    kind: 'object',
    shape: {
      name: 'ImpstatsTaken',
      schema: z.object({
        accepted,
        ignored: z.int().min(0).describe('Lines and objects about no input or output.'),
      }),
    },
  },
  example: {
    query: { instance: 'log-1' },
    body: '{"name":"imtcp(514)","origin":"imtcp","submitted":1200}',
  },
};

const eventsOperation: Operation = {
  ...ingestRoute,
  id: 'ingest.events',
  path: '/ingest/events',
  summary: 'Take external events; all of them or none, answered when what follows is on disk',
  query: {},
  body: { kind: 'whole', shape: { name: 'PostedEvents', schema: externalEventsSchema }, isRequired: true },
  answer: {
    kind: 'object',
    shape: {
      name: 'EventsTaken',
      schema: z.object({
        accepted: z.int().min(0).describe('How many were taken. What follows from them is on disk.'),
      }),
    },
  },
  errors: ['unprocessable'],
  example: {
    body: {
      condition: 'search',
      key: 'failed_logins/web1',
      state: 'ALARM',
      fields: { count: 42 },
      id: 'run-1840',
    },
  },
};

export const ingestOperations: readonly Operation[] = [
  samplesOperation,
  impstatsOperation,
  remoteWriteOperation,
  otlpOperation,
  eventsOperation,
];

/** Values of JSON in one push: 100,000 samples with all their members. */
const MOST_PUSHED_VALUES = 1_000_000;

const OPTIONS = { bodyLimit: MOST_BYTES, config: { isLive: true } } as const;

interface IngestOptions {
  readonly tenantOf: WorkspaceOf;
  readonly forwarding: Forwarding;
  readonly limits: Pick<CallLimits, 'countUnauthenticated'>;
}

/** One label for all senders without a known token. */
const UNKNOWN_SENDER = '(unknown)';

/** Engines push their statistics here, each with its pipeline's token. */
export async function addIngest(
  scope: FastifyInstance,
  { tenantOf, forwarding, limits }: IngestOptions,
): Promise<void> {
  const senders = new WeakMap<FastifyRequest, string>();

  /** Undefined for a host without a workspace. */
  function tenantIn(request: FastifyRequest): ServedWorkspace | undefined {
    try {
      return tenantOf(request);
    } catch {
      return undefined;
    }
  }

  function assertKnownSender(request: FastifyRequest): void {
    const tenant = tenantOf(request);
    try {
      senders.set(request, senderOf(ingestEndpointOf(tenant), bearerToken(request)).id);
    } catch (error) {
      if (error instanceof AppError && error.code === 'unauthenticated') {
        const { ip: address, id: requestId } = request;
        const { audit } = tenant.context;
        audit.refused({ actor: '', action: 'ingest.token', reason: error.message, address, requestId });
        limits.countUnauthenticated(address);
      }
      throw error;
    }
  }

  scope.addHook('onError', async (request, _reply, error) =>
    tenantIn(request)?.ingestRefused(senders.get(request) ?? UNKNOWN_SENDER, asAppError(error).code),
  );
  forwardToLeader(scope, forwarding);
  // Before the body is read, so that no unknown sender makes us parse megabytes.
  scope.addHook('onRequest', async request => {
    if (request.is404) return;
    assertKnownSender(request);
    tenantOf(request).limits.countPush();
  });
  const onBody: ChargeBody = (request, bytes) => tenantOf(request).limits.chargePush({ bytes });
  const bodies = { mostUnpacked: MOST_BYTES, onBody };
  await scope.register(async json => {
    readJsonBodies(json, { ...bodies, mostValues: MOST_PUSHED_VALUES, numbers: 'nearest' });
    json.post(below(samplesOperation), OPTIONS, async request =>
      ingestSamples(ingestEndpointOf(tenantOf(request)), bearerToken(request), request.body),
    );
  });
  await scope.register(async json => {
    readJsonBodies(json, { ...bodies, mostValues: MOST_PUSHED_VALUES });
    json.post(below(eventsOperation), OPTIONS, async request => {
      const tenant = tenantOf(request);
      return ingestEvents(
        ingestEndpointOf(tenant),
        receiveCharged(tenant),
        bearerToken(request),
        request.body,
      );
    });
  });
  await scope.register(points => addPointRoutes(points, { tenantOf, below, onBody, config: OPTIONS.config }));
  await scope.register(async text => {
    readTextBodies(text, bodies);
    text.post<{ Querystring: { instance?: string | string[] } }>(
      below(impstatsOperation),
      OPTIONS,
      async request => {
        const { instance } = request.query;
        const body = typeof request.body === 'string' ? request.body : '';
        return ingestImpstats(
          ingestEndpointOf(tenantOf(request)),
          bearerToken(request),
          typeof instance === 'string' ? instance : undefined,
          body,
        );
      },
    );
  });
}

/** Each event of a push is charged. */
const receiveCharged =
  ({ limits, receiveEvents }: ServedWorkspace): ServedWorkspace['receiveEvents'] =>
  (pipeline, events) => {
    limits.chargePush({ events: events.length });
    return receiveEvents(pipeline, events);
  };

/** The scope has the first part of the path as its prefix. */
const below = ({ path }: Operation): string => path.replace(INGEST_PREFIX, '');
