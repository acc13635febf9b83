import { assertFewLabels, assertRoom, type Point } from './point.ts';
import { assertWire, FIXED64, Fields, LENGTH, type Span, textOf, VARINT } from './protobuf.ts';

/**
 * The points of a WriteRequest of Prometheus remote write 1.0 (prometheus.io/docs/specs/prw/remote_write_spec), unpacked.
 * Markers of staleness are NaN, and left out. Throws `invalid-request` for what is none.
 */
export function readWriteRequest(bytes: Buffer): Point[] {
  const points: Point[] = [];
  const fields = new Fields(bytes, { from: 0, to: bytes.length });
  while (fields.next())
    if (fields.number === 1) {
      assertWire(fields, LENGTH);
      readSeries(bytes, fields, points);
    }
  return points;
}

function readSeries(bytes: Buffer, span: Span, points: Point[]): void {
  const labels = new Map<string, string>();
  const samples: { readonly value: number; readonly time: number }[] = [];
  const fields = new Fields(bytes, span);
  while (fields.next()) {
    if (fields.number > 2) continue;
    assertWire(fields, LENGTH);
    if (fields.number === 1) {
      addLabel(bytes, fields, labels);
      assertFewLabels(labels.size);
    } else samples.push(sampleOf(bytes, fields));
  }
  const name = labels.get('__name__') ?? '';
  labels.delete('__name__');
  for (const { value, time } of samples) {
    if (Number.isNaN(value)) continue;
    assertRoom(points);
    points.push({ name, labels, instance: undefined, value, time, temporality: 'cumulative', life: '' });
  }
}

function addLabel(bytes: Buffer, span: Span, labels: Map<string, string>): void {
  let name = '';
  let value = '';
  const fields = new Fields(bytes, span);
  while (fields.next()) {
    if (fields.number > 2) continue;
    assertWire(fields, LENGTH);
    if (fields.number === 1) name = textOf(bytes, fields);
    else value = textOf(bytes, fields);
  }
  labels.set(name, value);
}

/** What is 0 is not sent at all. */
function sampleOf(bytes: Buffer, span: Span): { readonly value: number; readonly time: number } {
  let value = 0;
  let time = 0;
  const fields = new Fields(bytes, span);
  while (fields.next())
    if (fields.number === 1) {
      assertWire(fields, FIXED64);
      value = bytes.readDoubleLE(fields.from);
    } else if (fields.number === 2) {
      assertWire(fields, VARINT);
      time = fields.varint;
    }
  return { value, time };
}
