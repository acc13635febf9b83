import { AppError } from '../../lib/errors.ts';
import type { ReadingBudget } from '../../lib/reading-budget.ts';
import type { Slices } from '../../lib/slices.ts';
import { assertFewLabels, pointBudget, type TakePoint } from './point.ts';
import {
  assertWire,
  type ByteRange,
  FIXED64,
  FieldReader,
  LENGTH,
  type ProtobufBody,
  textOf,
  VARINT,
} from './protobuf.ts';

/**
 * Reads the points of a WriteRequest of Prometheus remote write 1.0 (prometheus.io/docs/specs/prw/remote_write_spec),
 * unpacked. Staleness markers are NaN, and skipped. Throws `invalid-request` for anything else.
 */
export function* readWriteRequest(
  bytes: Buffer,
  take: TakePoint,
  budget: ReadingBudget = pointBudget(),
): Slices {
  const body = { bytes, budget };
  const fields = new FieldReader(body, { from: 0, to: bytes.length });
  while (fields.next()) {
    if (fields.number === 1) {
      assertWire(fields, LENGTH);
      yield* readSeries(body, fields, take);
    }
    if (budget.isPauseDue()) yield;
  }
}

/** Labels may stand behind samples, so samples are read in a second go over the message. */
function* readSeries(body: ProtobufBody, span: ByteRange, take: TakePoint): Slices {
  const labels = labelsOf(body, span);
  const name = labels.get('__name__') ?? '';
  labels.delete('__name__');
  const fields = new FieldReader(body, span);
  while (fields.next()) {
    if (fields.number !== 2) continue;
    assertWire(fields, LENGTH);
    body.budget.takePoint();
    if (body.budget.isPauseDue()) yield;
    const { value, time } = sampleOf(body, fields);
    if (Number.isNaN(value)) continue;
    take({
      name,
      labels,
      instance: undefined,
      value,
      time,
      temporality: 'cumulative',
      start: Number.NaN,
    });
  }
}

function labelsOf(body: ProtobufBody, span: ByteRange): Map<string, string> {
  const labels = new Map<string, string>();
  let count = 0;
  const fields = new FieldReader(body, span);
  while (fields.next()) {
    if (fields.number !== 1) continue;
    assertWire(fields, LENGTH);
    assertFewLabels(++count);
    addLabel(body, fields, labels);
  }
  return labels;
}

function addLabel(body: ProtobufBody, span: ByteRange, labels: Map<string, string>): void {
  let name = '';
  let value = '';
  const fields = new FieldReader(body, span);
  while (fields.next()) {
    if (fields.number > 2) continue;
    assertWire(fields, LENGTH);
    if (fields.number === 1) name = textOf(body, fields);
    else value = textOf(body, fields);
  }
  labels.set(name, value);
}

/** Protocol buffers leave out a field that is 0. */
function sampleOf(body: ProtobufBody, span: ByteRange): { readonly value: number; readonly time: number } {
  let value = 0;
  let time = 0;
  const fields = new FieldReader(body, span);
  while (fields.next())
    if (fields.number === 1) {
      assertWire(fields, FIXED64);
      value = body.bytes.readDoubleLE(fields.from);
    } else if (fields.number === 2) {
      assertWire(fields, VARINT);
      time = fields.varint;
    }
  return { value, time };
}

const LONGEST_LENGTH_BYTES = 5;
/** Bytes that one packed byte can stand for: the longest copy has 64 of 3. */
const LONGEST_EXPANSION = 22;

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
  // What no block so short can unpack to must not cost its memory.
  if (length > packed.length * LONGEST_EXPANSION) throw notSnappy();
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
