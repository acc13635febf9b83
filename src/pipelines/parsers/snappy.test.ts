import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { sampleBytes } from '../../../test/helpers/pages.ts';
import { unpackSnappy } from './remote-write.ts';

const MOST = 1024 * 1024;

const varint = (value: number): number[] =>
  value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...varint(value >>> 7)];

/** Literals only: what a lazy sender may write. */
function stored(bytes: Uint8Array): Buffer {
  const parts: Uint8Array[] = [Buffer.from(varint(bytes.length))];
  for (let at = 0; at < bytes.length; at += 60) {
    const piece = bytes.subarray(at, at + 60);
    parts.push(Buffer.from([(piece.length - 1) << 2]), piece);
  }
  return Buffer.concat(parts);
}

it('unpacks what was stored as it is', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 2000 }), bytes => {
      expect([...unpackSnappy(stored(bytes), MOST)]).toEqual([...bytes]);
    }),
  );
});

it('repeats what a copy reaches into while it is written', () => {
  const ab = Buffer.from([8, 1 << 2, 97, 98, ((6 - 1) << 2) | 2, 2, 0]);
  expect(unpackSnappy(ab, MOST).toString()).toBe('abababab');
});

it('unpacks what Prometheus and Fluent Bit pack', () => {
  const prometheus = unpackSnappy(sampleBytes('prometheus-2.42-remote_write-v1.snappy.bin'), MOST);
  expect(prometheus.includes('__name__')).toBe(true);
  const fluentBit = unpackSnappy(sampleBytes('fluent-bit-5.1-remote_write.snappy.bin'), MOST);
  expect(fluentBit.includes('fluentbit_input_records_total')).toBe(true);
});

it('makes nothing of what says that it is too large', () => {
  expect(() => unpackSnappy(Buffer.from([...varint(MOST + 1), 0, 0]), MOST)).toThrow(
    expect.objectContaining({ code: 'body-too-large' }),
  );
});

it.each([
  ['nothing', []],
  ['a length without end', [0xff, 0xff, 0xff, 0xff, 0xff, 0xff]],
  ['a literal that is cut short', [5, 4 << 2, 97]],
  ['a literal beyond the length', [1, 1 << 2, 97, 98]],
  ['a copy from before the beginning', [4, 0, 97, ((3 - 1) << 2) | 2, 9, 0]],
  ['a copy of nothing before', [4, 0, 97, ((3 - 1) << 2) | 2, 0, 0]],
  ['too little', [5, 0, 97]],
])('refuses %s', (_, bytes) => {
  expect(() => unpackSnappy(Buffer.from(bytes), MOST)).toThrow(
    expect.objectContaining({ code: 'invalid-request' }),
  );
});

it('answers any bytes with bytes or a refusal', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), bytes => {
      try {
        expect(unpackSnappy(Buffer.from(bytes), MOST).length).toBeLessThanOrEqual(MOST);
      } catch (error) {
        expect(error).toMatchObject({ code: expect.stringMatching(/^(invalid-request|body-too-large)$/) });
      }
    }),
    { numRuns: 2000 },
  );
});
