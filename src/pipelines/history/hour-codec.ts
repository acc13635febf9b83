import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { HOURS_PER_ROW } from '../../storage/stores/hours.ts';
import { isCounter, METRICS } from '../metric.ts';
import { MINUTE_METRICS, type MinuteMetric, type MinuteValues } from './minute-codec.ts';

/**
 * What is kept of each hour of a component; only ever appended to, as rows name them by their place. `minutes` is in how
 * many of its minutes a reading showed the component, `last_data` the number of the last of them in which there was data, and `open_seconds` for
 * how many seconds an incident was open on the component.
 */
export const HOUR_METRICS = ['minutes', 'last_data', 'open_seconds', 'health', ...METRICS] as const;
export type HourMetric = (typeof HOUR_METRICS)[number];

/** Increases of counters within the hour, the worst of health, `up`, `blocked` and `queue_size`, the last `queue_capacity`. */
export type HourValues = Partial<Record<HourMetric, number>>;

/** A row that takes more was not written by us. */
const MAX_BYTES = 500_000;
/** Before a number that takes 64 bits; whole numbers are written times 2, and so never begin like this. */
const FRACTION = 1;

/**
 * Packs hours by their number within the row, metric by metric, as compression finds more of the same among values of one
 * metric than among those of one hour.
 */
export function encodeHours(hours: ReadonlyMap<number, HourValues>): Uint8Array {
  const numbers = [...hours.keys()].sort((one, other) => one - other);
  const writer = new Writer();
  writer.whole(numbers.length);
  numbers.forEach((number, at) => void writer.whole(number - (numbers[at - 1] ?? 0)));
  for (const metric of HOUR_METRICS) {
    const values = numbers.map(number => hours.get(number)?.[metric]);
    const known = values.filter(value => value !== undefined);
    writer.whole(known.length);
    if (known.length > 0 && known.length < values.length)
      for (const value of values) writer.whole(value === undefined ? 0 : 1);
    for (const value of known) writer.value(value);
  }
  return deflateRawSync(writer.written());
}

/** The hours of a row by their number. What cannot be read is taken for no hours. */
export function decodeHours(data: Uint8Array): Map<number, HourValues> {
  try {
    return readHours(new Reader(inflateRawSync(data, { maxOutputLength: MAX_BYTES })));
  } catch {
    return new Map();
  }
}

function readHours(reader: Reader): Map<number, HourValues> {
  const count = reader.whole();
  const hours: [number, HourValues][] = [];
  let number = 0;
  for (let at = 0; at < count; at++) {
    number += reader.whole();
    if (number >= HOURS_PER_ROW) throw new RangeError('there are no more hours in a row');
    hours.push([number, {}]);
  }
  for (const metric of HOUR_METRICS) {
    // Rows of an earlier version know fewer metrics.
    if (reader.isAtEnd()) break;
    const known = reader.whole();
    if (known === 0) continue;
    const isKnown = hours.map(() => known === count || reader.whole() === 1);
    hours.forEach(([, values], at) => {
      if (isKnown[at] === true) values[metric] = reader.value();
    });
  }
  return new Map(hours);
}

/** Numbers of 1 to 9 bytes, one behind the other. */
class Writer {
  #bytes = Buffer.allocUnsafe(8192);
  #length = 0;

  written(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }

  whole(value: number): void {
    this.#reserve();
    let rest = value;
    while (rest >= 128) {
      this.#bytes[this.#length++] = (rest % 128) + 128;
      rest = Math.floor(rest / 128);
    }
    this.#bytes[this.#length++] = rest;
  }

  value(value: number): void {
    if (value >= 0 && Number.isSafeInteger(value * 2)) {
      this.whole(value * 2);
      return;
    }
    this.whole(FRACTION);
    this.#reserve();
    this.#length = this.#bytes.writeDoubleLE(value, this.#length);
  }

  #reserve(): void {
    if (this.#bytes.length - this.#length >= 16) return;
    const larger = Buffer.allocUnsafe(this.#bytes.length * 2);
    this.#bytes.copy(larger);
    this.#bytes = larger;
  }
}

/** Reads what a `Writer` wrote; throws a `RangeError` where that ends too early. */
class Reader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  isAtEnd(): boolean {
    return this.#at >= this.#bytes.length;
  }

  whole(): number {
    let value = 0;
    let scale = 1;
    for (;;) {
      const byte = this.#bytes.readUInt8(this.#at++);
      value += (byte % 128) * scale;
      if (byte < 128) return value;
      scale *= 128;
    }
  }

  value(): number {
    const twice = this.whole();
    if (twice !== FRACTION) return twice / 2;
    this.#at += 8;
    return this.#bytes.readDoubleLE(this.#at - 8);
  }
}

/** What a stretch of time adds up. */
const isSum = (metric: HourMetric): boolean =>
  metric === 'minutes' || metric === 'open_seconds' || isCounter(metric);

/** Adds up what counters brought; of how things are, takes the worst, and of a capacity the latest. */
export function combine(metric: HourMetric, before: number, value: number): number {
  if (metric === 'queue_capacity') return value;
  if (metric === 'up') return Math.min(before, value);
  return isSum(metric) ? before + value : Math.max(before, value);
}

const DATA = ['in_events', 'in_bytes', 'out_events', 'out_bytes'] as const;

/** True when anything came in or went out. */
export const hasData = (values: MinuteValues): boolean => DATA.some(name => (values[name] ?? 0) > 0);

/** Makes an hour of its minutes, by their numbers. */
export function hourOfMinutes(minutes: ReadonlyMap<number, MinuteValues>, openSeconds: number): HourValues {
  const hour: HourValues = {
    minutes: [...minutes.values()].filter(isRead).length,
    open_seconds: openSeconds,
  };
  for (const [number, values] of [...minutes].sort(([one], [other]) => one - other)) {
    if (hasData(values)) hour.last_data = number;
    for (const [name, value] of entriesOf(values)) {
      const before = hour[name];
      hour[name] = before === undefined ? value : combine(name, before, value);
    }
  }
  return hour;
}

/** True of a minute in which a reading showed the component. */
export const isRead = (values: MinuteValues): boolean => METRICS.some(name => values[name] !== undefined);

const entriesOf = (values: MinuteValues): [MinuteMetric, number][] =>
  MINUTE_METRICS.flatMap((name): [MinuteMetric, number][] => {
    const value = values[name];
    return value === undefined ? [] : [[name, value]];
  });
