const UNIT_MS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const UNITS = ['d', 'h', 'm', 's', 'ms'] as const;

const NUMBER = String.raw`(\d{1,15})(?:\.(\d{1,6}))?`;
/** Each unit once, from the largest to the smallest; every number may have decimal places. */
const PATTERN = new RegExp(`^${UNITS.map(unit => `(?:${NUMBER}${unit})?`).join('')}$`);
const LONGEST_MS = 400 * UNIT_MS.d;

/** A length of time that remembers how it was written: `60s` stays `60s` in messages, answers and files. */
export class Duration {
  readonly text: string;
  readonly ms: number;

  /** Throws a `RangeError` for a text that is no duration. */
  constructor(text: string) {
    const ms = parseDuration(text);
    if (ms === undefined) throw new RangeError(`'${text}' is not a duration such as 30s, 5m or 1h30m`);
    this.text = text;
    this.ms = ms;
  }

  toString(): string {
    return this.text;
  }

  toJSON(): string {
    return this.text;
  }
}

/**
 * Milliseconds of `60s`, `5m`, `1h30m`, `1.5h`, `500ms`, `1d`; undefined when the text is no duration, no whole number
 * of milliseconds, or over 400 days.
 */
export function parseDuration(text: string): number | undefined {
  const match = text === '' ? null : PATTERN.exec(text);
  if (match === null) return undefined;
  let ms = 0;
  for (const [index, unit] of UNITS.entries())
    ms += partMs(match[1 + 2 * index], match[2 + 2 * index], UNIT_MS[unit]);
  return Number.isInteger(ms) && ms <= LONGEST_MS ? ms : undefined;
}

/** Decimal places are counted as whole numbers, so that `1.1h` is no rounding error beside 66 minutes. */
function partMs(whole = '0', decimals = '', unitMs: number): number {
  return Number(whole) * unitMs + (Number(decimals) * unitMs) / 10 ** decimals.length;
}

/** For people: the two largest units, rounded down: `45s`, `5m`, `1h 5m`, `3d 2h`. */
export function formatDuration(ms: number): string {
  let rest = Math.max(0, Math.floor(ms));
  if (rest < UNIT_MS.s) return `${rest}ms`;
  const parts: string[] = [];
  for (const unit of ['d', 'h', 'm', 's'] as const) {
    const count = Math.floor(rest / UNIT_MS[unit]);
    rest -= count * UNIT_MS[unit];
    if (count > 0) parts.push(`${count}${unit}`);
    else if (parts.length > 0) break;
    if (parts.length === 2) break;
  }
  return parts.join(' ');
}
