import { AppError } from '../../lib/errors.ts';
import type { ReadingBudget } from '../../lib/reading-budget.ts';

/** A message and what may be read of it. */
export interface ProtobufBody {
  readonly bytes: Buffer;
  readonly budget: ReadingBudget;
}

/** A stretch of bytes. */
export interface ByteRange {
  readonly from: number;
  readonly to: number;
}

/** The field of a message that was read last. */
export interface Field extends ByteRange {
  readonly number: number;
  readonly wire: number;
  /** The value of a varint, as a signed number; 0 for other fields. Over 2^53 the last digits are lost. */
  readonly varint: number;
}

/** Wire types of Protocol Buffers (protobuf.dev/programming-guides/encoding). */
export const VARINT = 0;
export const FIXED64 = 1;
export const LENGTH = 2;
const FIXED32 = 5;

const LONGEST_VARINT = 10;
const SIGN_LIMIT = 2 ** 63;
const FIXED_BYTES = { [FIXED64]: 8, [FIXED32]: 4 } as const;

/**
 * Reads a message field by field: `while (fields.next())`, after which it is the field that was read. Throws `invalid-request`
 * where the bytes are none, and when the budget is spent. A million points have several messages each, so it makes nothing
 * but itself.
 */
export class FieldReader implements Field {
  number = 0;
  wire = 0;
  varint = 0;
  from = 0;
  to: number;
  readonly #bytes: Buffer;
  readonly #budget: ReadingBudget;
  readonly #end: number;

  constructor({ bytes, budget }: ProtobufBody, { from, to }: ByteRange) {
    this.#bytes = bytes;
    this.#budget = budget;
    this.#end = to;
    this.to = from;
  }

  /** False at the end of the message. */
  next(): boolean {
    if (this.to >= this.#end) return false;
    this.#budget.takeValue();
    this.from = this.to;
    const key = this.#varint();
    this.number = Math.floor(key / 8);
    this.wire = key % 8;
    if (this.number === 0) throw wrong('a field with number 0', this.from);
    this.varint = 0;
    if (this.wire === VARINT) {
      const start = this.from;
      const value = this.#varint();
      this.varint = value >= SIGN_LIMIT ? value - 2 * SIGN_LIMIT : value;
      this.to = this.from;
      this.from = start;
    } else {
      const length = this.#length();
      this.to = this.from + length;
      if (this.to > this.#end) throw truncated(this.from);
    }
    return true;
  }

  /** Reads from `from`, and leaves it behind what was read. */
  #varint(): number {
    let value = 0;
    let unit = 1;
    for (let length = 0; length < LONGEST_VARINT; length++) {
      if (this.from >= this.#end) throw truncated(this.from);
      const byte = this.#bytes[this.from++] ?? 0;
      value += (byte & 0x7f) * unit;
      if (byte < 0x80) return value;
      unit *= 0x80;
    }
    throw wrong(`a number of more than ${LONGEST_VARINT} bytes`, this.from);
  }

  #length(): number {
    if (this.wire === LENGTH) return this.#varint();
    if (this.wire === FIXED64 || this.wire === FIXED32) return FIXED_BYTES[this.wire];
    throw wrong(`wire type ${this.wire}`, this.from);
  }
}

export const textOf = ({ bytes }: ProtobufBody, { from, to }: ByteRange): string =>
  bytes.toString('utf8', from, to);

/** Throws `invalid-request` when the field does not come as the schema has it. */
export function assertWire({ number, wire, from }: Field, expected: number): void {
  if (wire !== expected) throw wrong(`field ${number} with wire type ${wire} in place of ${expected}`, from);
}

const truncated = (at: number): AppError => wrong('it is cut short', at);

const wrong = (what: string, at: number): AppError =>
  new AppError(
    'invalid-request',
    `The body is not the protobuf message it should be: ${what}, at byte ${at}`,
  );
