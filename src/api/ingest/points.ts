import type { FastifyInstance, FastifyRequest } from 'fastify';
import * as z from 'zod';
import { AppError } from '../../lib/errors.ts';
import { parseJsonInSlices } from '../../lib/json.ts';
import { inSlices } from '../../lib/slices.ts';
import type { ReadPoints } from '../../pipelines/ingest/pushed.ts';
import type { IngestedPoints } from '../../pipelines/monitor.ts';
import { readOtlpJson, readOtlpProtobuf } from '../../pipelines/parsers/otlp.ts';
import { readWriteRequest, unpackSnappy } from '../../pipelines/parsers/remote-write.ts';
import { ingestPoints } from '../../resources/ingest.ts';
import { decodeContent } from '../content-encoding.ts';
import { bearerToken, readBinaryBodies } from '../hooks.ts';
import type { Operation } from '../operation.ts';
import { ingestEndpointOf, type WorkspaceOf } from '../served-workspace.ts';

const PROTOBUF = 'application/x-protobuf';
/** Type of remote write 2.0; a sender that is refused with 415 falls back to 1.0. */
const SECOND_VERSION = 'io.prometheus.write.v2.request';
/** Of a push, as it is sent and unpacked. */
export const MOST_BYTES = 16 * 1024 * 1024;

const pointsRoute = {
  method: 'POST',
  access: 'pipeline',
  params: {},
  query: { instance: z.string().optional().describe('Which sender it is, where its series do not say.') },
  takesIfMatch: false,
  hasEtag: false,
  errors: ['body-too-large'],
} as const;

export const remoteWriteOperation: Operation = {
  ...pointsRoute,
  id: 'ingest.remoteWrite',
  path: '/ingest/prometheus/write',
  summary: 'Take series by Prometheus remote write 1.0, of a pipeline that pushes',
  body: {
    kind: 'text',
    types: [PROTOBUF],
    shape: { name: 'WriteRequest', schema: z.string().describe('A WriteRequest, packed with Snappy.') },
    isRequired: false,
  },
  answer: {
    kind: 'object',
    shape: {
      name: 'PointsTaken',
      schema: z.object({
        accepted: z.int().min(0).describe('How many were taken. They are in memory, not on disk.'),
        ignored: z.int().min(0).describe('How many are about no input or output.'),
      }),
    },
  },
  example: { query: { instance: 'edge-1' } },
};

export const otlpOperation: Operation = {
  ...pointsRoute,
  id: 'ingest.otlp',
  path: '/ingest/otlp/v1/metrics',
  summary: 'Take metrics by OTLP over HTTP, of a pipeline that pushes; JSON or protobuf, gzip or not',
  body: {
    kind: 'text',
    types: ['application/json', PROTOBUF],
    shape: {
      name: 'ExportMetricsRequest',
      schema: z.looseObject({}).describe('An ExportMetricsServiceRequest.'),
    },
    isRequired: true,
  },
  answer: {
    kind: 'object',
    shape: {
      name: 'ExportMetricsAnswer',
      schema: z.object({
        partialSuccess: z
          .object({
            rejectedDataPoints: z.string().describe('How many points were not counted, a number.'),
            errorMessage: z.string(),
          })
          .optional()
          .describe('Left out when everything was taken.'),
      }),
    },
  },
  example: {
    body: {
      resourceMetrics: [
        {
          resource: { attributes: [{ key: 'service.instance.id', value: { stringValue: 'edge-1' } }] },
          scopeMetrics: [
            {
              metrics: [
                {
                  name: 'otelcol_receiver_accepted_log_records',
                  sum: {
                    aggregationTemporality: 2,
                    isMonotonic: true,
                    dataPoints: [
                      {
                        attributes: [{ key: 'receiver', value: { stringValue: 'syslog/app' } }],
                        timeUnixNano: '1767225600000000000',
                        asInt: '1200',
                      },
                    ],
                  },
                },
              ],
            },
          ],
        },
      ],
    },
  },
};

/** Charges bytes that a request brought to its workspace. */
export type ChargeBody = (request: FastifyRequest, bytes: number) => void;

interface PointsOptions {
  readonly tenantOf: WorkspaceOf;
  /** Called with the bytes of each body, unpacked. */
  readonly onBody: ChargeBody;
  /** The path below the scope. */
  readonly below: (operation: Operation) => string;
  readonly config: { readonly isLive: true };
}

type PointsRequest = FastifyRequest<{ Querystring: { instance?: string | string[] } }>;

/** Senders of Prometheus and OpenTelemetry push here. */
export async function addPointRoutes(
  scope: FastifyInstance,
  { tenantOf, below, onBody, config }: PointsOptions,
): Promise<void> {
  const options = { bodyLimit: MOST_BYTES, config };
  const take = async (request: PointsRequest, read: ReadPoints): Promise<IngestedPoints> => {
    const { instance } = request.query;
    const sender = typeof instance === 'string' && instance !== '' ? instance : undefined;
    return ingestPoints(ingestEndpointOf(tenantOf(request)), bearerToken(request), sender, read);
  };
  readBinaryBodies(scope, ['application/json', PROTOBUF]);

  scope.post(below(remoteWriteOperation), options, async (request: PointsRequest) => {
    const type = (request.headers['content-type'] ?? PROTOBUF).toLowerCase();
    if (!type.startsWith(PROTOBUF) || type.includes(SECOND_VERSION))
      throw new AppError(
        'unsupported-media-type',
        `The body must be a WriteRequest of remote write 1.0, ${PROTOBUF}`,
      );
    const body = bodyOf(request);
    const unpacked = body.length === 0 ? body : unpackSnappy(body, MOST_BYTES);
    onBody(request, unpacked.length);
    return take(request, point => readWriteRequest(unpacked, point));
  });

  scope.post(below(otlpOperation), options, async (request: PointsRequest, reply) => {
    const isProtobuf = (request.headers['content-type'] ?? '').toLowerCase().startsWith(PROTOBUF);
    const body = await decodeContent(request, bodyOf(request), MOST_BYTES);
    onBody(request, body.length);
    if (isProtobuf) {
      const { rejected } = await take(request, point => readOtlpProtobuf(body, point));
      return reply.type(PROTOBUF).send(protobufAnswer(rejected));
    }
    const value = await inSlices(parseJsonInSlices(body.toString(), { numbers: 'nearest' }));
    const { rejected } = await take(request, point => readOtlpJson(value, point));
    // A number of 64 bits is a string (OTLP, section JSON Protobuf encoding).
    return rejected === undefined
      ? {}
      : { partialSuccess: { rejectedDataPoints: String(rejected), errorMessage: REJECTED } };
  });
}

const REJECTED =
  'Increases overlap times that are counted already, or lie before the 64 intervals that are kept of a series; they are not counted';

/** An ExportMetricsServiceResponse; it is empty when everything was taken. */
function protobufAnswer(rejected: number | undefined): Buffer {
  if (rejected === undefined) return Buffer.alloc(0);
  const message = Buffer.from(REJECTED);
  const partialSuccess = Buffer.concat([
    Buffer.from([0x08, ...varint(rejected), 0x12, ...varint(message.length)]),
    message,
  ]);
  return Buffer.concat([Buffer.from([0x0a, ...varint(partialSuccess.length)]), partialSuccess]);
}

/** Groups of seven bits, the lowest first (Protocol Buffers, Encoding). */
function varint(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) | 0x80);
  return [...bytes, rest];
}

const bodyOf = ({ body }: PointsRequest): Buffer => (Buffer.isBuffer(body) ? body : Buffer.alloc(0));
