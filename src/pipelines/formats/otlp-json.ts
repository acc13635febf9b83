import * as z from 'zod';
import { AppError } from '../../lib/errors.ts';
import { addPoint, instanceOf, type OtlpMetric } from './otlp.ts';
import type { Point } from './point.ts';

const NS_PER_MS = 1_000_000;

/** Whole numbers of 64 bits travel as texts; some senders write numbers. */
const whole = z.union([z.string().regex(/^-?\d{1,20}$/), z.number()]);

/** What is no number travels as a text (ProtoJSON), or as null where a sender leaves it to JavaScript. */
const double = z.union([
  z.number(),
  z.enum(['NaN', 'Infinity', '-Infinity']).transform(Number),
  z.null().transform(() => Number.NaN),
]);

// A request has a hundred thousand of these: what is left out or written in two ways is seen to after validation, which
// takes half as long without.
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
        .optional(),
    }),
  )
  .optional();
type Attributes = z.output<typeof attributes>;

const point = z.object({
  attributes,
  startTimeUnixNano: whole.optional(),
  timeUnixNano: whole.optional(),
  asDouble: double.optional(),
  asInt: whole.optional(),
  flags: z.int().optional(),
});

const dataPoints = z.array(point).optional();

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
        resource: z.object({ attributes }).optional(),
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
    const instance = instanceOf(labelsOf(resource?.attributes));
    for (const { metrics } of scopeMetrics) for (const one of metrics) addMetric(points, one, instance);
  }
  return points;
}

function addMetric(points: Point[], { name, gauge, sum }: z.output<typeof metric>, instance?: string): void {
  const described = { name, kind: 'gauge', temporality: 0, isMonotonic: false } as const;
  for (const one of gauge?.dataPoints ?? []) add(points, described, one, instance);
  if (sum === undefined) return;
  const { dataPoints: own = [], aggregationTemporality: temporality, isMonotonic } = sum;
  for (const one of own) add(points, { name, kind: 'sum', temporality, isMonotonic }, one, instance);
}

function labelsOf(list: Attributes = []): Map<string, string> {
  const labels = new Map<string, string>();
  for (const { key, value } of list)
    labels.set(
      key,
      String(value?.stringValue ?? value?.boolValue ?? value?.intValue ?? value?.doubleValue ?? ''),
    );
  return labels;
}

function add(
  points: Point[],
  described: OtlpMetric,
  {
    attributes: own,
    startTimeUnixNano = '0',
    timeUnixNano = '0',
    asDouble,
    asInt = 0,
    flags = 0,
  }: z.output<typeof point>,
  instance: string | undefined,
): void {
  if (flags % 2 === 1) return;
  const time = Number(timeUnixNano) / NS_PER_MS;
  const start = String(startTimeUnixNano);
  addPoint(
    points,
    described,
    {
      attributes: labelsOf(own),
      value: asDouble ?? Number(asInt),
      start: start === '0' ? '' : start,
      time: time === 0 ? Number.NaN : time,
    },
    instance,
  );
}
