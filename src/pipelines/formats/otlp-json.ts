import * as z from 'zod';
import { AppError } from '../../lib/errors.ts';
import { addPoint, instanceOf } from './otlp.ts';
import type { Point } from './point.ts';

const NS_PER_MS = 1_000_000;

/** Whole numbers of 64 bits travel as texts; some senders write numbers. */
const whole = z.union([z.string().regex(/^-?\d{1,20}$/), z.number()]).transform(String);

/** What is no number travels as a text (ProtoJSON), or as null where a sender leaves it to JavaScript. */
const double = z.union([
  z.number(),
  z.enum(['NaN', 'Infinity', '-Infinity']).transform(Number),
  z.null().transform(() => Number.NaN),
]);

const attributes = z
  .array(
    z.object({
      key: z.string(),
      value: z
        .object({
          stringValue: z.string().optional(),
          boolValue: z.boolean().optional(),
          intValue: whole.optional(),
          doubleValue: double.optional(),
        })
        .default({}),
    }),
  )
  .default([])
  .transform(
    list =>
      new Map(
        list.map(({ key, value: { stringValue, boolValue, intValue, doubleValue } }) => [
          key,
          String(stringValue ?? boolValue ?? intValue ?? doubleValue ?? ''),
        ]),
      ),
  );

const point = z.object({
  attributes,
  startTimeUnixNano: whole.default('0'),
  timeUnixNano: whole.default('0'),
  asDouble: double.optional(),
  asInt: whole.optional(),
  flags: z.int().default(0),
});

const dataPoints = z.array(point).default([]);

const metric = z.object({
  name: z.string(),
  gauge: z.object({ dataPoints }).optional(),
  sum: z
    .object({
      dataPoints,
      aggregationTemporality: z
        .union([
          z.int(),
          z.literal('AGGREGATION_TEMPORALITY_DELTA').transform(() => 1),
          z.literal('AGGREGATION_TEMPORALITY_CUMULATIVE').transform(() => 2),
        ])
        .default(0),
      isMonotonic: z.boolean().default(false),
    })
    .optional(),
});

/** An ExportMetricsServiceRequest as JSON (OTLP 1.x, section JSON Protobuf encoding); what is unknown is left alone. */
const otlpSchema = z.object({
  resourceMetrics: z
    .array(
      z.object({
        resource: z.object({ attributes }).default({ attributes: new Map() }),
        scopeMetrics: z.array(z.object({ metrics: z.array(metric).default([]) })).default([]),
      }),
    )
    .default([]),
});

/** The points of a request. Throws `invalid-request` naming the first bad place. */
export function readOtlpJson(body: unknown): Point[] {
  const parsed = otlpSchema.safeParse(body);
  if (!parsed.success) {
    const problems = parsed.error.issues
      .slice(0, 1)
      .map(({ path, message }) => ({ path: path.map(String).join('.'), message }));
    throw new AppError('invalid-request', 'The body is no ExportMetricsServiceRequest; nothing was taken', {
      problems,
    });
  }
  const points: Point[] = [];
  for (const { resource, scopeMetrics } of parsed.data.resourceMetrics) {
    const instance = instanceOf(resource.attributes);
    for (const { metrics } of scopeMetrics) for (const one of metrics) addMetric(points, one, instance);
  }
  return points;
}

function addMetric(points: Point[], { name, gauge, sum }: z.output<typeof metric>, instance?: string): void {
  for (const one of gauge?.dataPoints ?? [])
    add(points, { name, kind: 'gauge', temporality: 0, isMonotonic: false }, one, instance);
  for (const one of sum?.dataPoints ?? [])
    add(
      points,
      {
        name,
        kind: 'sum',
        temporality: sum?.aggregationTemporality ?? 0,
        isMonotonic: sum?.isMonotonic ?? false,
      },
      one,
      instance,
    );
}

function add(
  points: Point[],
  described: Parameters<typeof addPoint>[1],
  { attributes: own, startTimeUnixNano, timeUnixNano, asDouble, asInt, flags }: z.output<typeof point>,
  instance: string | undefined,
): void {
  if (flags % 2 === 1) return;
  const time = Number(timeUnixNano) / NS_PER_MS;
  addPoint(
    points,
    described,
    {
      attributes: own,
      value: asDouble ?? Number(asInt ?? 0),
      start: startTimeUnixNano === '0' ? '' : startTimeUnixNano,
      time: time === 0 ? Number.NaN : time,
    },
    instance,
  );
}
