import type { ComponentHealth } from '../components/component.ts';
import { COUNTERS, METRICS } from '../metric.ts';

/** Metrics of a component that can be asked for, minute by minute. */
export const MINUTE_METRICS = ['health', ...METRICS] as const;
export type MinuteMetric = (typeof MINUTE_METRICS)[number];

/**
 * What conditions look at beside metrics, so that they can be evaluated again. At the minute's end: the seconds of
 * silence, those in which its pages could not be read, its replicas, and how full the fullest queue of several replicas
 * is. Within the minute: the seconds of a silence of a minute or more that data ended, the milliseconds that it was Red
 * and blocked, and what counters hold of time in which this process did not run. Each is left out where it is 0, and one replica.
 */
export const OBSERVED_VALUES = [
  'silent_seconds',
  'ended_silent_seconds',
  'unread_seconds',
  'red_ms',
  'blocked_ms',
  'replicas',
  'queue_usage',
  ...COUNTERS.map(counter => `unobserved_${counter}` as const),
] as const;

/** All that is recorded of a minute; only ever appended to, as records name values by their place. */
const MINUTE_VALUES = [...MINUTE_METRICS, ...OBSERVED_VALUES] as const;
type MinuteValue = (typeof MINUTE_VALUES)[number];

/** Increases of counters within the minute, gauges as they were at its end, health as 0 Green, 1 Yellow and 2 Red. */
export type MinuteValues = Partial<Record<MinuteValue, number>>;

/** As Cribl-compatible clients number health; Unknown has no number. */
export const HEALTH_NUMBERS: Readonly<Record<ComponentHealth, number | undefined>> = {
  Green: 0,
  Yellow: 1,
  Red: 2,
  Unknown: undefined,
};

const BASE = 36;
const MINUTES = 60;
/** Other than whole numbers are written with so many digits. */
const DIGITS = 6;

/**
 * One minute of an hour as text: its number, the bits of what is known, and the values, numbers to the base 36 and 0 as
 * nothing. Records stand one behind the other, so that the next is appended to what is stored without reading that.
 */
export function encodeMinute(minute: number, values: MinuteValues): string {
  let known = 0;
  const texts: string[] = [];
  MINUTE_VALUES.forEach((name, at) => {
    const value = values[name];
    if (value === undefined || !Number.isFinite(value)) return;
    known |= 1 << at;
    texts.push(encodeNumber(value));
  });
  return `${[minute.toString(BASE), known.toString(BASE), ...texts].join(',')};`;
}

const encodeNumber = (value: number): string => {
  if (value === 0) return '';
  return Number.isSafeInteger(value) ? value.toString(BASE) : `~${Number(value.toPrecision(DIGITS))}`;
};

/** The place of the last minute of the hour before, beside those of the hour. */
export const CARRIED_MINUTE = MINUTES;

const ROWS = MINUTES + 1;
const COMMA = 44;
const MINUS = 45;
const SEMICOLON = 59;
const TILDE = 126;

/** The minutes of an hour of one component. */
export class MinuteTable {
  /** By minute, the bits of the values that are known; 0 for a minute that was not recorded. */
  readonly #known = new Uint32Array(ROWS);
  /** All minutes of a value stand together, as most who look at one look at its next minutes too. */
  readonly #values = new Float64Array(ROWS * MINUTE_VALUES.length);
  /** The records that are being read, and how far. */
  #text = '';
  #at = 0;

  /** Takes over records in place of what it had; of a minute that was written twice the last. Those that cannot be read are skipped. */
  read(text: string): void {
    this.#known.fill(0, 0, MINUTES);
    this.#text = text;
    this.#at = 0;
    const last = text.lastIndexOf(';');
    while (this.#at < last) {
      this.#readRecord();
      if (text.charCodeAt(this.#at) !== SEMICOLON) this.#at = text.indexOf(';', this.#at);
      this.#at++;
    }
  }

  /** Writes its minutes behind `at`, for `unpack`, and answers where they end. */
  pack(packed: PackedHour, at: number): number {
    let columns = 0;
    for (let minute = 0; minute < MINUTES; minute++) columns |= this.#known[minute] ?? 0;
    packed[at++] = columns;
    if (columns === 0) return at;
    for (let minute = 0; minute < MINUTES; minute++) packed[at++] = this.#known[minute] ?? 0;
    for (let bits = columns; bits !== 0; bits &= bits - 1) {
      const first = (31 - Math.clz32(bits & -bits)) * ROWS;
      for (let minute = 0; minute < MINUTES; minute++) packed[at++] = this.#values[first + minute] ?? 0;
    }
    return at;
  }

  /** Takes over minutes as `read` does, from what `pack` wrote behind `at`, and answers where they end. */
  unpack(packed: PackedHour, at: number): number {
    const columns = packed[at++] ?? 0;
    if (columns === 0) {
      this.#known.fill(0, 0, MINUTES);
      return at;
    }
    for (let minute = 0; minute < MINUTES; minute++) this.#known[minute] = packed[at++] ?? 0;
    for (let bits = columns; bits !== 0; bits &= bits - 1) {
      const first = (31 - Math.clz32(bits & -bits)) * ROWS;
      for (let minute = 0; minute < MINUTES; minute++) this.#values[first + minute] = packed[at++] ?? 0;
    }
    return at;
  }

  /** Keeps a minute at `CARRIED_MINUTE`, whatever is read after it. */
  carry(minute: number): void {
    if (minute === CARRIED_MINUTE) return;
    this.#known[CARRIED_MINUTE] = this.#known[minute] ?? 0;
    for (let first = 0; first < this.#values.length; first += ROWS)
      this.#values[first + CARRIED_MINUTE] = this.#values[first + minute] ?? 0;
  }

  isRecorded(minute: number): boolean {
    return this.#known[minute] !== 0;
  }

  /** True for a minute in which one of the values is known that `maskOf` was given. */
  hasAny(minute: number, mask: number): boolean {
    return ((this.#known[minute] ?? 0) & mask) !== 0;
  }

  /** Undefined where it is not known. `place` is the one that `placeOf` gives. */
  value(minute: number, place: number): number | undefined {
    if (((this.#known[minute] ?? 0) & (1 << place)) === 0) return undefined;
    return this.#values[place * ROWS + minute];
  }

  #readRecord(): void {
    const text = this.#text;
    const minute = this.#readNumber();
    if (text.charCodeAt(this.#at) !== COMMA || !(minute < MINUTES)) return;
    this.#at++;
    const known = this.#readNumber();
    if (!(known > 0) || known >= 1 << MINUTE_VALUES.length) return;
    let isWhole = true;
    for (let bits = known; bits !== 0 && isWhole; bits &= bits - 1) {
      isWhole = text.charCodeAt(this.#at) === COMMA;
      if (!isWhole) break;
      this.#at++;
      const value = this.#readNumber();
      this.#values[(31 - Math.clz32(bits & -bits)) * ROWS + minute] = value;
      isWhole = !Number.isNaN(value);
    }
    // Values that were read into it in part are no longer those of a record before.
    this.#known[minute] = isWhole && text.charCodeAt(this.#at) === SEMICOLON ? known : 0;
  }

  /** A number as `encodeNumber` wrote it, up to the end of its field; NaN for what is none. */
  #readNumber(): number {
    const text = this.#text;
    let at = this.#at;
    const first = text.charCodeAt(at);
    if (first === TILDE) return this.#readDecimal();
    if (first === MINUS) at++;
    let value = 0;
    for (; ; at++) {
      const code = text.charCodeAt(at);
      if (code >= 48 && code <= 57) value = value * BASE + (code - 48);
      else if (code >= 97 && code <= 122) value = value * BASE + (code - 87);
      else {
        this.#at = at;
        if (code !== COMMA && code !== SEMICOLON) return Number.NaN;
        return first === MINUS ? -value : value;
      }
    }
  }

  #readDecimal(): number {
    const text = this.#text;
    let end = this.#at + 1;
    for (let code = text.charCodeAt(end); code !== COMMA && code !== SEMICOLON && end < text.length; ) {
      end++;
      code = text.charCodeAt(end);
    }
    const value = Number(text.slice(this.#at + 1, end));
    this.#at = end;
    return Number.isFinite(value) ? value : Number.NaN;
  }
}

/** The minutes of an hour of some components, as numbers that cross threads without being copied. */
export type PackedHour = Float64Array<ArrayBuffer>;

/** Numbers that a component takes at most, and mostly. */
const MOST_PACKED = 1 + MINUTES * (1 + MINUTE_VALUES.length);
const MOSTLY_PACKED = 1 + MINUTES * 8;

/** Packs the records of components, in their order, into `spare` where that is large enough. */
export function packHour(texts: readonly (string | undefined)[], spare?: PackedHour): PackedHour {
  const table = new MinuteTable();
  let packed = spare ?? new Float64Array(texts.length * MOSTLY_PACKED + MOST_PACKED);
  let at = 0;
  for (const text of texts) {
    if (packed.length - at < MOST_PACKED) {
      const larger = new Float64Array(packed.length * 2 + MOST_PACKED);
      larger.set(packed);
      packed = larger;
    }
    table.read(text ?? '');
    at = table.pack(packed, at);
  }
  return packed;
}

/** The place of a value within a minute. */
export const placeOf = (name: MinuteValue): number => MINUTE_VALUES.indexOf(name);

/** The bits of values. */
export const maskOf = (names: readonly MinuteValue[]): number =>
  names.reduce((mask, name) => mask | (1 << placeOf(name)), 0);

/** The minutes of an hour by their number; of one that was written twice the last. Records that cannot be read are skipped. */
export function decodeMinutes(text: string): ReadonlyMap<number, MinuteValues> {
  const table = new MinuteTable();
  table.read(text);
  const minutes = new Map<number, MinuteValues>();
  for (let minute = 0; minute < MINUTES; minute++) {
    if (!table.isRecorded(minute)) continue;
    const values: MinuteValues = {};
    MINUTE_VALUES.forEach((name, place) => {
      const value = table.value(minute, place);
      if (value !== undefined) values[name] = value;
    });
    minutes.set(minute, values);
  }
  return minutes;
}
