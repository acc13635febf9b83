import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { codeOf } from '../../lib/errors.ts';
import { ReadingBudget } from '../../lib/reading-budget.ts';
import { atOnce, type Slices } from '../../lib/slices.ts';
import { readImpstats } from './impstats.ts';
import { readOtlpProtobuf } from './otlp.ts';
import type { Point, TakePoint } from './point.ts';
import { readWriteRequest } from './remote-write.ts';

/** A series with its points, as any format can say it. */
interface Series {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly points: readonly { readonly value: number; readonly time: number }[];
}

const word = fc.stringMatching(/^[a-z][a-z_]{0,8}$/);
const series: fc.Arbitrary<Series> = fc.record({
  name: word,
  labels: fc.dictionary(word, fc.string({ maxLength: 8 }), { maxKeys: 4 }),
  points: fc.array(
    fc.record({
      value: fc.double({ noNaN: true, noDefaultInfinity: true }),
      time: fc.integer({ min: 1, max: 2_000_000_000 }),
    }),
    { maxLength: 5 },
  ),
});
const requests = fc.array(series, { maxLength: 6 });

function varint(value: number): number[] {
  return value < 0x80 ? [value] : [(value % 0x80) | 0x80, ...varint(Math.floor(value / 0x80))];
}

const field = (number: number, ...parts: readonly Uint8Array[]): Buffer => {
  const body = Buffer.concat(parts);
  return Buffer.concat([Buffer.from([number * 8 + 2, ...varint(body.length)]), body]);
};

function fixed64(number: number, write: (bytes: Buffer) => void): Buffer {
  const bytes = Buffer.alloc(8);
  write(bytes);
  return Buffer.concat([Buffer.from([number * 8 + 1]), bytes]);
}

const double = (number: number, value: number): Buffer =>
  fixed64(number, bytes => bytes.writeDoubleLE(value));
const text = (number: number, value: string): Buffer => field(number, Buffer.from(value));

const FORMATS = [
  {
    what: 'remote write',
    write: (all: readonly Series[]): Buffer =>
      Buffer.concat(
        all.map(({ name, labels, points }) =>
          field(
            1,
            ...Object.entries({ __name__: name, ...labels }).map(([key, value]) =>
              field(1, text(1, key), text(2, value)),
            ),
            ...points.map(({ value, time }) =>
              field(2, double(1, value), Buffer.from([2 * 8, ...varint(time)])),
            ),
          ),
        ),
      ),
    read: readWriteRequest,
  },
  {
    what: 'OTLP as protobuf',
    write: (all: readonly Series[]): Buffer =>
      field(
        1,
        field(
          2,
          ...all.map(({ name, labels, points }) =>
            field(
              2,
              text(1, name),
              field(
                5,
                ...points.map(({ value, time }) =>
                  field(
                    1,
                    fixed64(3, bytes => bytes.writeBigUInt64LE(BigInt(time) * 1_000_000n)),
                    double(4, value),
                    ...Object.entries(labels).map(([key, label]) =>
                      field(7, text(1, key), field(2, text(1, label))),
                    ),
                  ),
                ),
              ),
            ),
          ),
        ),
      ),
    read: readOtlpProtobuf,
  },
] as const;

const plain = ({ name, labels, value, time }: Pick<Point, 'name' | 'labels' | 'value' | 'time'>) => ({
  name,
  labels: Object.fromEntries([...labels].sort()),
  value,
  time,
});

function pointsIn(read: (take: TakePoint) => Slices): ReturnType<typeof plain>[] {
  const points: ReturnType<typeof plain>[] = [];
  atOnce(read(point => void points.push(plain(point))));
  return points;
}

const FEW = 10;

describe.each(FORMATS)('$what', ({ write, read }) => {
  it('is read as it was written, point by point', () => {
    fc.assert(
      fc.property(requests, all => {
        const written = all.flatMap(({ name, labels, points }) =>
          points.map(point => plain({ name, labels: new Map(Object.entries(labels)), ...point })),
        );
        expect(pointsIn(take => read(write(all), take))).toEqual(written);
      }),
    );
  });

  it('that is damaged is read or refused, and never beyond its budget', () => {
    const edits = fc.array(fc.tuple(fc.nat(), fc.nat({ max: 255 })), { maxLength: 6 });
    fc.assert(
      fc.property(requests, edits, fc.nat(), (all, changes, cut) => {
        const whole = write(all);
        for (const [at, byte] of changes) if (whole.length > 0) whole[at % whole.length] = byte;
        const bytes = whole.subarray(0, whole.length - (cut % (whole.length + 1)));
        let taken = 0;
        const budget = new ReadingBudget({ values: 40 * FEW, points: FEW });
        try {
          atOnce(read(bytes, () => void taken++, budget));
        } catch (error) {
          expect(codeOf(error)).toBe('invalid-request');
        }
        expect(taken).toBeLessThanOrEqual(FEW);
      }),
      { numRuns: 1000 },
    );
  });
});

describe('lines of impstats', () => {
  const object = fc
    .record({ name: word, origin: word, counters: fc.dictionary(word, fc.nat(), { maxKeys: 5 }) })
    .map(({ name, origin, counters: { name: _, origin: __, ...values } }) => ({ name, origin, values }));

  it('are read as they were written, whatever stands before them', () => {
    const lines = fc.array(fc.tuple(fc.stringMatching(/^[a-z0-9: ]{0,20}$/), object), { maxLength: 8 });
    fc.assert(
      fc.property(lines, written => {
        const body = written.map(
          ([lead, { values, ...one }]) => `${lead}${JSON.stringify({ ...one, ...values })}\n`,
        );
        const { rounds, ignored } = atOnce(readImpstats(body.join('')));
        expect(ignored).toBe(0);
        expect(rounds.flat()).toEqual(written.map(([, one]) => one));
      }),
    );
  });

  it('that are damaged are read or counted as ignored', () => {
    const piece = fc.constantFrom(
      '{',
      '}',
      '"name":"a"',
      '"origin":"b"',
      ',',
      '"c":1',
      '\n',
      ': ',
      'a=1',
      'BEGIN',
      '# HELP ',
      '"',
      '\\',
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), pieces => {
        const body = pieces.join('');
        const { rounds, ignored } = atOnce(readImpstats(body));
        expect(rounds.flat().length + ignored).toBeLessThanOrEqual(body.split('\n').length);
      }),
      { numRuns: 1000 },
    );
  });
});
