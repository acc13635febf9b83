import { assertFewLabels, assertRoom, type Point } from './point.ts';
import {
  assertWire,
  FIXED64,
  type Field,
  LENGTH,
  readFields,
  type Span,
  textOf,
  VARINT,
} from './protobuf.ts';

/**
 * The points of a WriteRequest of Prometheus remote write 1.0 (prometheus.io/docs/specs/prw/remote_write_spec), unpacked.
 * Markers of staleness are NaN, and left out. Throws `invalid-request` for what is none.
 */
export function readWriteRequest(bytes: Buffer): Point[] {
  const points: Point[] = [];
  readFields(bytes, { from: 0, to: bytes.length }, field => {
    if (field.number !== 1) return;
    assertWire(field, LENGTH);
    readSeries(bytes, field, points);
  });
  return points;
}

function readSeries(bytes: Buffer, span: Span, points: Point[]): void {
  const labels = new Map<string, string>();
  const samples: { readonly value: number; readonly time: number }[] = [];
  readFields(bytes, span, field => {
    if (field.number > 2) return;
    assertWire(field, LENGTH);
    if (field.number === 1) {
      const { name, value } = labelOf(bytes, field);
      labels.set(name, value);
      assertFewLabels(labels.size);
    } else samples.push(sampleOf(bytes, field));
  });
  const name = labels.get('__name__') ?? '';
  labels.delete('__name__');
  for (const { value, time } of samples) {
    if (Number.isNaN(value)) continue;
    assertRoom(points);
    points.push({ name, labels, instance: undefined, value, time, temporality: 'cumulative', life: '' });
  }
}

function labelOf(bytes: Buffer, span: Field): { readonly name: string; readonly value: string } {
  let name = '';
  let value = '';
  readFields(bytes, { from: span.from, to: span.to }, field => {
    if (field.number > 2) return;
    assertWire(field, LENGTH);
    if (field.number === 1) name = textOf(bytes, field);
    else value = textOf(bytes, field);
  });
  return { name, value };
}

/** What is 0 is not sent at all. */
function sampleOf(bytes: Buffer, span: Field): { readonly value: number; readonly time: number } {
  let value = 0;
  let time = 0;
  readFields(bytes, { from: span.from, to: span.to }, field => {
    if (field.number === 1) {
      assertWire(field, FIXED64);
      value = bytes.readDoubleLE(field.from);
    } else if (field.number === 2) {
      assertWire(field, VARINT);
      time = field.varint;
    }
  });
  return { value, time };
}
