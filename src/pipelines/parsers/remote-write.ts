import { AppError } from '../../lib/errors.ts';
import { assertFewLabels, assertMorePointsFit, type Point } from './point.ts';
import { assertWire, type ByteRange, FIXED64, FieldReader, LENGTH, textOf, VARINT } from './protobuf.ts';

/**
 * The points of a WriteRequest of Prometheus remote write 1.0 (prometheus.io/docs/specs/prw/remote_write_spec), unpacked.
 * Staleness markers are NaN, and skipped. Throws `invalid-request` for anything else.
 */
export function readWriteRequest(bytes: Buffer): Point[] {
  const points: Point[] = [];
  const fields = new FieldReader(bytes, { from: 0, to: bytes.length });
  while (fields.next())
    if (fields.number === 1) {
      assertWire(fields, LENGTH);
      readSeries(bytes, fields, points);
    }
  return points;
}

function readSeries(bytes: Buffer, span: ByteRange, points: Point[]): void {
  const labels = new Map<string, string>();
  const samples: { readonly value: number; readonly time: number }[] = [];
  const fields = new FieldReader(bytes, span);
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
    assertMorePointsFit(points);
    points.push({
      name,
      labels,
      instance: undefined,
      value,
      time,
      temporality: 'cumulative',
      incarnation: '',
    });
  }
}

function addLabel(bytes: Buffer, span: ByteRange, labels: Map<string, string>): void {
  let name = '';
  let value = '';
  const fields = new FieldReader(bytes, span);
  while (fields.next()) {
    if (fields.number > 2) continue;
    assertWire(fields, LENGTH);
    if (fields.number === 1) name = textOf(bytes, fields);
    else value = textOf(bytes, fields);
  }
  labels.set(name, value);
}

/** Protocol buffers leave out a field that is 0. */
function sampleOf(bytes: Buffer, span: ByteRange): { readonly value: number; readonly time: number } {
  let value = 0;
  let time = 0;
  const fields = new FieldReader(bytes, span);
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

const LONGEST_LENGTH_BYTES = 5;

/**
 * Unpacks Snappy's block format (github.com/google/snappy, format_description.txt). Throws `body-too-large` for what
 * says that it is over `most` bytes unpacked, before any of them is made, and `invalid-request` for what is no block.
 */
export function unpackSnappy(packed: Buffer, most: number): Buffer {
  let at = 0;
  let length = 0;
  for (let byte = 0x80, count = 0; byte >= 0x80; count++) {
    if (at >= packed.length || count === LONGEST_LENGTH_BYTES) throw notSnappy();
    byte = packed[at++] ?? 0;
    length += (byte & 0x7f) * 2 ** (7 * count);
  }
  if (length > most)
    throw new AppError('body-too-large', `The body is ${length} bytes unpacked, over the limit of ${most}`);
  const out = Buffer.alloc(length);
  let end = 0;

  function literal(tag: number): void {
    let size = tag >> 2;
    if (size >= 60) {
      const extra = size - 59;
      if (at + extra > packed.length) throw notSnappy();
      size = packed.readUIntLE(at, extra);
      at += extra;
    }
    size += 1;
    if (at + size > packed.length || end + size > length) throw notSnappy();
    packed.copy(out, end, at, at + size);
    at += size;
    end += size;
  }

  function copy(tag: number): void {
    const kind = tag & 3;
    const extra = kind === 3 ? 4 : kind;
    if (at + extra > packed.length) throw notSnappy();
    const size = kind === 1 ? ((tag >> 2) & 7) + 4 : (tag >> 2) + 1;
    const offset = packed.readUIntLE(at, extra) + (kind === 1 ? (tag >> 5) * 256 : 0);
    at += extra;
    if (offset === 0 || offset > end || end + size > length) throw notSnappy();
    // It may copy what it is just writing, so byte by byte.
    for (const stop = end + size; end < stop; end++) out[end] = out[end - offset] ?? 0;
  }

  while (at < packed.length) {
    const tag = packed[at++] ?? 0;
    if ((tag & 3) === 0) literal(tag);
    else copy(tag);
  }
  if (end !== length) throw notSnappy();
  return out;
}

const notSnappy = (): AppError =>
  new AppError('invalid-request', "The body is not a Snappy block, as remote write's Content-Encoding says");
