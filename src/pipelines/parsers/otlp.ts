import * as z from 'zod';
import { AppError } from '../../lib/errors.ts';
import { assertFewLabels, assertMorePointsFit, type Point } from './point.ts';
import { assertWire, type ByteRange, FIXED64, type Field, FieldReader, LENGTH, textOf } from './protobuf.ts';

/** The description of a metric (opentelemetry-proto, metrics.proto). */
interface OtlpMetric {
  readonly name: string;
  readonly kind: 'gauge' | 'sum';
  /** 1 is delta, 2 cumulative. */
  readonly temporality: number;
  readonly isMonotonic: boolean;
}

interface OtlpPoint {
  readonly attributes: ReadonlyMap<string, string>;
  readonly value: number;
  /** Epoch ns as text, '' when it is not said. */
  readonly start: string;
  /** Epoch ms, or NaN. */
  readonly time: number;
}

const NS_PER_MS = 1_000_000;
const DELTA = 1;
const INSTANCE = ['service.instance.id', 'host.name', 'host.id'] as const;

/** The instance of a resource: the first of its attributes that differ between processes. */
const instanceOf = (resource: ReadonlyMap<string, string>): string | undefined =>
  INSTANCE.map(name => resource.get(name)).find(value => value !== undefined && value !== '');

/** Adds a point as Prometheus would have it; a sum that goes up and down is a gauge, and its changes alone say nothing. */
function addPoint(points: Point[], metric: OtlpMetric, point: OtlpPoint, instance: string | undefined): void {
  const isDelta = metric.kind === 'sum' && metric.temporality === DELTA;
  if (isDelta && !metric.isMonotonic) return;
  assertMorePointsFit(points);
  assertFewLabels(point.attributes.size);
  const isCounter = metric.kind === 'sum' && metric.isMonotonic;
  points.push({
    name: prometheusName(metric.name),
    labels: prometheusLabels(point.attributes),
    instance,
    value: point.value,
    time: point.time,
    temporality: isDelta ? 'delta' : 'cumulative',
    incarnation: isCounter && !isDelta ? point.start : '',
  });
}

/** Sorted by name: senders do not promise an order, and a series is identified by its labels in order. */
function prometheusLabels(attributes: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  let last = '';
  let isAsItShouldBe = true;
  for (const name of attributes.keys()) {
    isAsItShouldBe &&= name > last && !FOREIGN.test(name);
    last = name;
  }
  if (isAsItShouldBe) return attributes;
  return new Map([...attributes].map(([name, value]) => [prometheusName(name), value] as const).sort(byName));
}

const FOREIGN = /[^a-zA-Z0-9_:]/;

/** Names with dots, as Prometheus writes them (OpenTelemetry's compatibility document). */
const prometheusName = (name: string): string => name.replace(/[^a-zA-Z0-9_:]/g, '_');

const byName = ([one]: readonly [string, string], [other]: readonly [string, string]): number =>
  one < other ? -1 : Number(one > other);

/** Whole numbers of 64 bits are written as strings; some senders write numbers. */
const whole = z.union([z.string().regex(/^-?\d{1,20}$/), z.number()]);

/** NaN and infinities are written as strings (ProtoJSON), or as null where a sender leaves it to JavaScript. */
const double = z.union([
  z.number(),
  z.enum(['NaN', 'Infinity', '-Infinity']).transform(Number),
  z.null().transform(() => Number.NaN),
]);

// A request has a hundred thousand of these: fields that are missing or written in two ways are handled after validation,
// which takes half as long without.
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

/** An ExportMetricsServiceRequest as JSON (OTLP 1.x, section JSON Protobuf encoding); unknown fields are ignored. */
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

const NO_VALUE = 1;

/**
 * The points of an ExportMetricsServiceRequest. Gauges and sums; histograms and summaries say nothing about inputs and
 * outputs. Throws `invalid-request` for anything else.
 */
export function readOtlpProtobuf(bytes: Buffer): Point[] {
  const points: Point[] = [];
  inside(bytes, { from: 0, to: bytes.length }, 1, resourceMetrics => {
    const resource = new Map<string, string>();
    inside(bytes, resourceMetrics, 1, message => readAttributes(bytes, message, 1, resource));
    const instance = instanceOf(resource);
    inside(bytes, resourceMetrics, 2, scopeMetrics =>
      inside(bytes, scopeMetrics, 2, metric => readMetric(bytes, metric, instance, points)),
    );
  });
  return points;
}

/** Calls `take` with each message in the fields of this number. */
function inside(bytes: Buffer, span: ByteRange, number: number, take: (message: ByteRange) => void): void {
  const fields = new FieldReader(bytes, span);
  while (fields.next())
    if (fields.number === number) {
      assertWire(fields, LENGTH);
      take(fields);
    }
}

function readMetric(bytes: Buffer, span: ByteRange, instance: string | undefined, points: Point[]): void {
  let name = '';
  const data: { readonly kind: OtlpMetric['kind']; readonly span: ByteRange }[] = [];
  const fields = new FieldReader(bytes, span);
  while (fields.next()) {
    const { number, from, to } = fields;
    if (number === 1 || number === 5 || number === 7) assertWire(fields, LENGTH);
    if (number === 1) name = textOf(bytes, fields);
    else if (number === 5) data.push({ kind: 'gauge', span: { from, to } });
    else if (number === 7) data.push({ kind: 'sum', span: { from, to } });
  }
  for (const one of data) readData(bytes, one.span, { name, kind: one.kind, instance, points });
}

interface MetricContext {
  readonly name: string;
  readonly kind: OtlpMetric['kind'];
  readonly instance: string | undefined;
  readonly points: Point[];
}

function readData(bytes: Buffer, span: ByteRange, { name, kind, instance, points }: MetricContext): void {
  let temporality = 0;
  let isMonotonic = false;
  const found: OtlpPoint[] = [];
  const fields = new FieldReader(bytes, span);
  while (fields.next())
    if (fields.number === 2) temporality = fields.varint;
    else if (fields.number === 3) isMonotonic = fields.varint === 1;
    else if (fields.number === 1) {
      assertWire(fields, LENGTH);
      const point = pointOf(bytes, fields);
      if (point !== undefined) found.push(point);
    }
  const metric = { name, kind, temporality, isMonotonic };
  for (const point of found) addPoint(points, metric, point, instance);
}

function pointOf(bytes: Buffer, span: ByteRange): OtlpPoint | undefined {
  const attributes = new Map<string, string>();
  let value = 0;
  let start = '';
  let time = Number.NaN;
  let flags = 0;
  const fields = new FieldReader(bytes, span);
  while (fields.next()) {
    const { number } = fields;
    if (number === 2) start = String(fixed64(bytes, fields));
    else if (number === 3) time = Number(fixed64(bytes, fields)) / NS_PER_MS || Number.NaN;
    else if (number === 4) {
      assertWire(fields, FIXED64);
      value = bytes.readDoubleLE(fields.from);
    } else if (number === 6) value = Number(BigInt.asIntN(64, fixed64(bytes, fields)));
    else if (number === 7) addAttribute(bytes, fields, attributes);
    else if (number === 8) flags = fields.varint;
  }
  return flags % 2 === NO_VALUE ? undefined : { attributes, value, start: start === '0' ? '' : start, time };
}

function fixed64(bytes: Buffer, field: Field): bigint {
  assertWire(field, FIXED64);
  return bytes.readBigUInt64LE(field.from);
}

function readAttributes(bytes: Buffer, span: ByteRange, number: number, into: Map<string, string>): void {
  const fields = new FieldReader(bytes, span);
  while (fields.next()) if (fields.number === number) addAttribute(bytes, fields, into);
}

function addAttribute(bytes: Buffer, span: Field, into: Map<string, string>): void {
  assertWire(span, LENGTH);
  let key = '';
  let value = '';
  const fields = new FieldReader(bytes, span);
  while (fields.next()) {
    if (fields.number > 2) continue;
    assertWire(fields, LENGTH);
    if (fields.number === 1) key = textOf(bytes, fields);
    else value = anyValue(bytes, fields);
  }
  into.set(key, value);
}

/** A string, boolean, whole or other number as text; lists and maps identify nothing, and are ''. */
function anyValue(bytes: Buffer, span: ByteRange): string {
  let text = '';
  const fields = new FieldReader(bytes, span);
  while (fields.next())
    if (fields.number === 1) text = textOf(bytes, fields);
    else if (fields.number === 2) text = String(fields.varint === 1);
    else if (fields.number === 3) text = String(fields.varint);
    else if (fields.number === 4) {
      assertWire(fields, FIXED64);
      text = String(bytes.readDoubleLE(fields.from));
    }
  return text;
}
