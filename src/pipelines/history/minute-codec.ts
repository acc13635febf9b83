import type { ComponentHealth } from '../components/component.ts';
import { METRICS } from '../metric.ts';

/** Metrics recorded of a component each minute; only ever appended to, as records name them by their place. */
export const MINUTE_METRICS = ['health', ...METRICS] as const;
export type MinuteMetric = (typeof MINUTE_METRICS)[number];

/** Increases of counters within the minute, gauges as they were at its end, health as 0 Green, 1 Yellow and 2 Red. */
export type MinuteValues = Partial<Record<MinuteMetric, number>>;

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
  MINUTE_METRICS.forEach((name, at) => {
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

const decodeNumber = (text: string): number => {
  if (text === '') return 0;
  return text.startsWith('~') ? Number(text.slice(1)) : Number.parseInt(text, BASE);
};

/** The minutes of an hour by their number; of one that was written twice the last. Records that cannot be read are skipped. */
export function decodeMinutes(text: string): ReadonlyMap<number, MinuteValues> {
  const minutes = new Map<number, MinuteValues>();
  for (const record of text.split(';')) {
    const [minute = '', known = '', ...texts] = record.split(',');
    const number = Number.parseInt(minute, BASE);
    const values = decodeValues(Number.parseInt(known, BASE), texts);
    if (number >= 0 && number < MINUTES && values !== undefined) minutes.set(number, values);
  }
  return minutes;
}

function decodeValues(known: number, texts: readonly string[]): MinuteValues | undefined {
  const values: MinuteValues = {};
  let at = 0;
  MINUTE_METRICS.forEach((name, bit) => {
    if ((known & (1 << bit)) !== 0) values[name] = decodeNumber(texts[at++] ?? '~');
  });
  const isWhole = at === texts.length && Object.values(values).every(Number.isFinite);
  return at > 0 && isWhole ? values : undefined;
}
