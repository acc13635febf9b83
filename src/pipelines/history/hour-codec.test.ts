import { deflateRawSync } from 'node:zlib';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { HOURS_PER_ROW } from '../../storage/stores/hours.ts';
import { decodeHours, encodeHours, HOUR_METRICS, type HourMetric, type HourValues } from './hour-codec.ts';

const value = fc.oneof(
  fc.nat(),
  fc.maxSafeInteger(),
  fc.double({ min: 0, noNaN: true, noDefaultInfinity: true }),
);
const values = fc
  .tuple(
    ...HOUR_METRICS.map(name =>
      fc.option(value.map((one): [HourMetric, number] => [name, one === 0 ? 0 : one])),
    ),
  )
  .map((entries): HourValues => Object.fromEntries(entries.filter(entry => entry !== null)));
const rows = fc
  .uniqueArray(fc.tuple(fc.nat(HOURS_PER_ROW - 1), values), { selector: ([hour]) => hour, maxLength: 40 })
  .map(hours => new Map(hours));

it('reads the hours that were written, whatever is known of each', () => {
  fc.assert(
    fc.property(rows, hours => {
      expect(decodeHours(encodeHours(hours))).toEqual(hours);
    }),
  );
});

it('takes what nobody wrote for no hours, and never more than there are', () => {
  fc.assert(
    fc.property(fc.uint8Array(), bytes => {
      for (const data of [bytes, deflateRawSync(bytes)])
        for (const hour of decodeHours(data).keys()) expect(hour).toBeLessThan(HOURS_PER_ROW);
    }),
  );
  expect(decodeHours(deflateRawSync(Buffer.alloc(2_000_000)))).toEqual(new Map());
  const whole = encodeHours(new Map([[3, { in_events: 5 }]]));
  expect(decodeHours(whole.subarray(0, whole.length - 2))).toEqual(new Map());
});

/** Bytes of a row beside its data: workspace, id and beginning, and the key in its index. */
const ROW_BYTES = 200;
const KEPT_HOURS = 400 * 24;

/** The same numbers each time. */
function* draws(): Generator<number, number> {
  for (let seed = 1; ; seed = (seed * 16_807) % 2_147_483_647) yield seed / 2_147_483_647;
}

it('takes at most 150 KB for the 400 days of a busy output with a queue', () => {
  const random = draws();
  const draw = (most: number): number => Math.round(random.next().value * most);
  const busyHour = (hour: number): HourValues => {
    const events = draw(4_000_000) + Math.round(5_000_000 * (1 + Math.sin((hour / 12) * Math.PI)));
    return {
      minutes: 60,
      last_data: 59,
      open_seconds: draw(50) === 0 ? draw(3600) : 0,
      health: draw(50) === 0 ? 2 : 0,
      out_events: events,
      out_bytes: events * 300 + draw(100_000_000),
      errors: draw(1000),
      dropped: 0,
      blocked: draw(10) === 0 ? draw(1000) / 1000 : 0,
      queue_size: draw(1_000_000),
      queue_capacity: 268_435_488,
      up: 1,
    };
  };
  let bytes = 0;
  for (let first = 0; first < KEPT_HOURS; first += HOURS_PER_ROW) {
    const row = new Map(Array.from({ length: HOURS_PER_ROW }, (_, at) => [at, busyHour(first + at)]));
    bytes += encodeHours(row).length + ROW_BYTES;
  }
  expect(bytes).toBeLessThan(150 * 1024);
  expect(bytes).toBeGreaterThan(50 * 1024);
});
