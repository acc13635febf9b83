import { addPoint, instanceOf, type OtlpMetric, type OtlpPoint } from './otlp.ts';
import type { Point } from './point.ts';
import { assertWire, FIXED64, type Field, Fields, LENGTH, type Span, textOf } from './protobuf.ts';

const NS_PER_MS = 1_000_000;
const NO_VALUE = 1;

/**
 * The points of an ExportMetricsServiceRequest. Gauges and sums; histograms and summaries tell nothing of inputs and
 * outputs. Throws `invalid-request` for what is none.
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

/** The messages that stand in the fields of this number. */
function inside(bytes: Buffer, span: Span, number: number, take: (message: Span) => void): void {
  const fields = new Fields(bytes, span);
  while (fields.next())
    if (fields.number === number) {
      assertWire(fields, LENGTH);
      take(fields);
    }
}

function readMetric(bytes: Buffer, span: Span, instance: string | undefined, points: Point[]): void {
  let name = '';
  const data: { readonly kind: OtlpMetric['kind']; readonly span: Span }[] = [];
  const fields = new Fields(bytes, span);
  while (fields.next()) {
    const { number, from, to } = fields;
    if (number === 1 || number === 5 || number === 7) assertWire(fields, LENGTH);
    if (number === 1) name = textOf(bytes, fields);
    else if (number === 5) data.push({ kind: 'gauge', span: { from, to } });
    else if (number === 7) data.push({ kind: 'sum', span: { from, to } });
  }
  for (const one of data) readData(bytes, one.span, { name, kind: one.kind, instance, points });
}

interface Described {
  readonly name: string;
  readonly kind: OtlpMetric['kind'];
  readonly instance: string | undefined;
  readonly points: Point[];
}

function readData(bytes: Buffer, span: Span, { name, kind, instance, points }: Described): void {
  let temporality = 0;
  let isMonotonic = false;
  const found: OtlpPoint[] = [];
  const fields = new Fields(bytes, span);
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

function pointOf(bytes: Buffer, span: Span): OtlpPoint | undefined {
  const attributes = new Map<string, string>();
  let value = 0;
  let start = '';
  let time = Number.NaN;
  let flags = 0;
  const fields = new Fields(bytes, span);
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

function readAttributes(bytes: Buffer, span: Span, number: number, into: Map<string, string>): void {
  const fields = new Fields(bytes, span);
  while (fields.next()) if (fields.number === number) addAttribute(bytes, fields, into);
}

function addAttribute(bytes: Buffer, span: Field, into: Map<string, string>): void {
  assertWire(span, LENGTH);
  let key = '';
  let value = '';
  const fields = new Fields(bytes, span);
  while (fields.next()) {
    if (fields.number > 2) continue;
    assertWire(fields, LENGTH);
    if (fields.number === 1) key = textOf(bytes, fields);
    else value = anyValue(bytes, fields);
  }
  into.set(key, value);
}

/** A text, a truth, a whole or another number as text; lists and maps tell nobody apart, and are ''. */
function anyValue(bytes: Buffer, span: Span): string {
  let text = '';
  const fields = new Fields(bytes, span);
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
