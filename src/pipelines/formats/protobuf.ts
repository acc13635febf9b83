import { AppError } from '../../lib/errors.ts';

/** A stretch of bytes. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** A field of a message. The same object is handed out for each, so nobody may keep it. */
export interface Field extends Span {
  readonly number: number;
  readonly wire: number;
  /** What a varint says, as a signed number; 0 for other fields. Over 2^53 the last digits are lost. */
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

/** Hands over the fields of the message that `span` of the bytes holds. Throws `invalid-request` where they are none. */
export function readFields(bytes: Buffer, span: Span, take: (field: Field) => void): void {
  const field = { number: 0, wire: 0, varint: 0, from: 0, to: 0 };
  let at = span.from;

  function varint(): number {
    let value = 0;
    for (let length = 0; length < LONGEST_VARINT; length++) {
      const byte = at < span.to ? bytes[at] : undefined;
      if (byte === undefined) throw cut(at);
      at++;
      value += (byte & 0x7f) * 2 ** (7 * length);
      if (byte < 0x80) return value;
    }
    throw wrong(`a number of more than ${LONGEST_VARINT} bytes`, at);
  }

  function lengthOf(wire: number): number {
    if (wire === LENGTH) return varint();
    if (wire === FIXED64 || wire === FIXED32) return FIXED_BYTES[wire];
    throw wrong(`wire type ${wire}`, at);
  }

  while (at < span.to) {
    const key = varint();
    field.number = Math.floor(key / 8);
    field.wire = key % 8;
    if (field.number === 0) throw wrong('a field with number 0', at);
    if (field.wire === VARINT) {
      field.from = at;
      const value = varint();
      field.varint = value >= SIGN_LIMIT ? value - 2 * SIGN_LIMIT : value;
      field.to = at;
    } else {
      const length = lengthOf(field.wire);
      field.varint = 0;
      field.from = at;
      field.to = at + length;
      if (field.to > span.to) throw cut(at);
    }
    at = field.to;
    take(field);
  }
}

export const textOf = (bytes: Buffer, { from, to }: Span): string => bytes.toString('utf8', from, to);

/** Throws `invalid-request` when the field does not come as the schema has it. */
export function assertWire({ number, wire, from }: Field, expected: number): void {
  if (wire !== expected) throw wrong(`field ${number} with wire type ${wire} in place of ${expected}`, from);
}

const cut = (at: number): AppError => wrong('it is cut short', at);

const wrong = (what: string, at: number): AppError =>
  new AppError(
    'invalid-request',
    `The body is not the protobuf message it should be: ${what}, at byte ${at}`,
  );
