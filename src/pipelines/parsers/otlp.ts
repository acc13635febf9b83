import * as z from 'zod';
import { ProblemList } from '../../lib/problem-list.ts';
import type { ReadingBudget } from '../../lib/reading-budget.ts';
import type { Slices } from '../../lib/slices.ts';
import { assertFewLabels, pointBudget, type TakePoint } from './point.ts';
import {
  assertWire,
  type ByteRange,
  FIXED64,
  type Field,
  FieldReader,
  LENGTH,
  type ProtobufBody,
  textOf,
} from './protobuf.ts';

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
  /** Epoch ms, or NaN. */
  readonly start: number;
  readonly time: number;
}

const NS_PER_MS = 1_000_000;
const DELTA = 1;
const INSTANCE = ['service.instance.id', 'host.name', 'host.id'] as const;

/** The instance of a resource: the first of its attributes that differ between processes. */
const instanceOf = (resource: ReadonlyMap<string, string>): string | undefined =>
  INSTANCE.map(name => resource.get(name)).find(value => value !== undefined && value !== '');

/** Takes a point as Prometheus would have it; a sum that goes up and down is a gauge, and its changes alone say nothing. */
function takeAs(take: TakePoint, metric: OtlpMetric, point: OtlpPoint, instance: string | undefined): void {
  const isDelta = metric.kind === 'sum' && metric.temporality === DELTA;
  if (isDelta && !metric.isMonotonic) return;
  assertFewLabels(point.attributes.size);
  take({
    name: prometheusName(metric.name),
    labels: prometheusLabels(point.attributes),
    instance,
    value: point.value,
    time: point.time,
    temporality: isDelta ? 'delta' : 'cumulative',
    start: point.start,
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

const dataPoint = z.object({
  attributes,
  startTimeUnixNano: whole.optional(),
  timeUnixNano: whole.optional(),
  asDouble: double.optional(),
  asInt: whole.optional(),
  flags: z.int().optional(),
});

/** Lists are validated item by item, so that reading stops at the first bad one. */
const list = z.array(z.unknown()).default([]);

const metric = z.object({
  name: z.string(),
  gauge: z.object({ dataPoints: list }).optional(),
  sum: z
    .object({
      dataPoints: list,
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

const resourceMetrics = z.object({
  resource: z.object({ attributes }).optional(),
  scopeMetrics: list,
});
const scopeMetrics = z.object({ metrics: list });
/** An ExportMetricsServiceRequest as JSON (OTLP 1.x, section JSON Protobuf encoding); unknown fields are ignored. */
const request = z.object({ resourceMetrics: list });

interface JsonBody {
  readonly take: TakePoint;
  readonly budget: ReadingBudget;
}

/** Reads the points of a request that was parsed. Throws `invalid-request` naming the first bad item. */
export function* readOtlpJson(
  value: unknown,
  take: TakePoint,
  budget: ReadingBudget = pointBudget(),
): Slices {
  const body = { take, budget };
  for (const [at, one] of readItem(request, value, []).resourceMetrics.entries()) {
    const path = ['resourceMetrics', at];
    const { resource, scopeMetrics: scopes } = readItem(resourceMetrics, one, path);
    const instance = instanceOf(labelsOf(resource?.attributes));
    for (const [scopeAt, scope] of scopes.entries()) {
      const scopePath = [...path, 'scopeMetrics', scopeAt];
      for (const [metricAt, found] of readItem(scopeMetrics, scope, scopePath).metrics.entries())
        yield* readJsonMetric(body, found, [...scopePath, 'metrics', metricAt], instance);
      budget.takeValue();
      if (budget.isPauseDue()) yield;
    }
    budget.takeValue();
    if (budget.isPauseDue()) yield;
  }
}

/** Throws `invalid-request` naming the places. */
function readItem<Output>(schema: z.ZodType<Output>, value: unknown, path: readonly PropertyKey[]): Output {
  const problems = new ProblemList();
  const read = problems.read(schema, value, path);
  if (read === undefined)
    throw problems.refusal('The body is no ExportMetricsServiceRequest; nothing was taken');
  return read.data;
}

function* readJsonMetric(
  body: JsonBody,
  value: unknown,
  path: readonly PropertyKey[],
  instance: string | undefined,
): Slices {
  const { name, gauge, sum } = readItem(metric, value, path);
  body.budget.takeValue();
  if (body.budget.isPauseDue()) yield;
  if (gauge !== undefined) {
    const described = { name, kind: 'gauge', temporality: 0, isMonotonic: false } as const;
    yield* readJsonPoints(body, gauge.dataPoints, [...path, 'gauge', 'dataPoints'], one =>
      takeJson(body.take, described, one, instance),
    );
  }
  if (sum === undefined) return;
  const { dataPoints, aggregationTemporality: temporality, isMonotonic } = sum;
  const described = { name, kind: 'sum', temporality, isMonotonic } as const;
  yield* readJsonPoints(body, dataPoints, [...path, 'sum', 'dataPoints'], one =>
    takeJson(body.take, described, one, instance),
  );
}

function* readJsonPoints(
  { budget }: JsonBody,
  points: readonly unknown[],
  path: readonly PropertyKey[],
  take: (point: z.output<typeof dataPoint>) => void,
): Slices {
  for (const [at, one] of points.entries()) {
    budget.takePoint();
    if (budget.isPauseDue()) yield;
    const parsed = dataPoint.safeParse(one);
    take(parsed.success ? parsed.data : readItem(dataPoint, one, [...path, at]));
  }
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

function takeJson(
  take: TakePoint,
  described: OtlpMetric,
  {
    attributes: own = [],
    startTimeUnixNano = '0',
    timeUnixNano = '0',
    asDouble,
    asInt = 0,
    flags = 0,
  }: z.output<typeof dataPoint>,
  instance: string | undefined,
): void {
  assertFewLabels(own.length);
  if (flags % 2 === 1) return;
  takeAs(
    take,
    described,
    {
      attributes: labelsOf(own),
      value: asDouble ?? Number(asInt),
      start: msOf(startTimeUnixNano),
      time: msOf(timeUnixNano),
    },
    instance,
  );
}

/** Epoch ms of epoch ns; 0 is no time. */
const msOf = (nanoseconds: string | number | bigint): number => Number(nanoseconds) / NS_PER_MS || Number.NaN;

const NO_VALUE = 1;

/**
 * Reads the points of an ExportMetricsServiceRequest. Gauges and sums; histograms and summaries say nothing about inputs
 * and outputs. Throws `invalid-request` for anything else.
 */
export function* readOtlpProtobuf(
  bytes: Buffer,
  take: TakePoint,
  budget: ReadingBudget = pointBudget(),
): Slices {
  const body = { bytes, budget };
  for (const resource of messages(body, { from: 0, to: bytes.length }, 1)) {
    const instance = instanceOf(resourceOf(body, resource));
    for (const scope of messages(body, resource, 2)) {
      for (const metric of messages(body, scope, 2)) {
        yield* readMetric(body, metric, instance, take);
        if (budget.isPauseDue()) yield;
      }
      if (budget.isPauseDue()) yield;
    }
    if (budget.isPauseDue()) yield;
  }
}

/** The messages in the fields of this number. */
function* messages(body: ProtobufBody, span: ByteRange, number: number): Generator<ByteRange> {
  const fields = new FieldReader(body, span);
  while (fields.next())
    if (fields.number === number) {
      assertWire(fields, LENGTH);
      yield fields;
    }
}

/** The attributes of a resource; it may be written in several parts. */
function resourceOf(body: ProtobufBody, resourceMetrics: ByteRange): ReadonlyMap<string, string> {
  const attributes = new Map<string, string>();
  for (const resource of messages(body, resourceMetrics, 1))
    for (const attribute of messages(body, resource, 1)) addAttribute(body, attribute, attributes);
  return attributes;
}

function* readMetric(
  body: ProtobufBody,
  span: ByteRange,
  instance: string | undefined,
  take: TakePoint,
): Slices {
  let name = '';
  const names = new FieldReader(body, span);
  while (names.next()) {
    if (names.number !== 1) continue;
    assertWire(names, LENGTH);
    name = textOf(body, names);
  }
  const fields = new FieldReader(body, span);
  while (fields.next()) {
    if (fields.number !== 5 && fields.number !== 7) continue;
    assertWire(fields, LENGTH);
    const kind = fields.number === 5 ? 'gauge' : 'sum';
    yield* readData(body, fields, { name, kind, instance, take });
  }
}

interface MetricContext {
  readonly name: string;
  readonly kind: OtlpMetric['kind'];
  readonly instance: string | undefined;
  readonly take: TakePoint;
}

/** What kind of sum it is may stand behind its points, so these are read in a second go over the message. */
function* readData(
  body: ProtobufBody,
  span: ByteRange,
  { name, kind, instance, take }: MetricContext,
): Slices {
  let temporality = 0;
  let isMonotonic = false;
  const settings = new FieldReader(body, span);
  while (settings.next()) {
    if (settings.number === 2) temporality = settings.varint;
    else if (settings.number === 3) isMonotonic = settings.varint === 1;
    if (body.budget.isPauseDue()) yield;
  }
  const metric = { name, kind, temporality, isMonotonic };
  for (const message of messages(body, span, 1)) {
    body.budget.takePoint();
    if (body.budget.isPauseDue()) yield;
    const point = pointOf(body, message);
    if (point !== undefined) takeAs(take, metric, point, instance);
  }
}

function pointOf(body: ProtobufBody, span: ByteRange): OtlpPoint | undefined {
  const attributes = new Map<string, string>();
  let count = 0;
  let value = 0;
  let start = Number.NaN;
  let time = Number.NaN;
  let flags = 0;
  const fields = new FieldReader(body, span);
  while (fields.next()) {
    const { number } = fields;
    if (number === 2) start = msOf(fixed64(body, fields));
    else if (number === 3) time = msOf(fixed64(body, fields));
    else if (number === 4) {
      assertWire(fields, FIXED64);
      value = body.bytes.readDoubleLE(fields.from);
    } else if (number === 6) value = Number(BigInt.asIntN(64, fixed64(body, fields)));
    else if (number === 7) {
      assertWire(fields, LENGTH);
      assertFewLabels(++count);
      addAttribute(body, fields, attributes);
    } else if (number === 8) flags = fields.varint;
  }
  return flags % 2 === NO_VALUE ? undefined : { attributes, value, start, time };
}

function fixed64({ bytes }: ProtobufBody, field: Field): bigint {
  assertWire(field, FIXED64);
  return bytes.readBigUInt64LE(field.from);
}

function addAttribute(body: ProtobufBody, span: ByteRange, into: Map<string, string>): void {
  let key = '';
  let value = '';
  const fields = new FieldReader(body, span);
  while (fields.next()) {
    if (fields.number > 2) continue;
    assertWire(fields, LENGTH);
    if (fields.number === 1) key = textOf(body, fields);
    else value = anyValue(body, fields);
  }
  into.set(key, value);
}

/** A string, boolean, whole or other number as text; lists and maps identify nothing, and are ''. */
function anyValue(body: ProtobufBody, span: ByteRange): string {
  let text = '';
  const fields = new FieldReader(body, span);
  while (fields.next())
    if (fields.number === 1) text = textOf(body, fields);
    else if (fields.number === 2) text = String(fields.varint === 1);
    else if (fields.number === 3) text = String(fields.varint);
    else if (fields.number === 4) {
      assertWire(fields, FIXED64);
      text = String(body.bytes.readDoubleLE(fields.from));
    }
  return text;
}
