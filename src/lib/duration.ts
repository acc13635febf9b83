const UNIT_MS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
type Unit = keyof typeof UNIT_MS;

const PATTERN = /^(\d{1,15})(ms|s|m|h|d)$/;
const LONGEST_MS = 400 * UNIT_MS.d;

/** A length of time that remembers how it was written: `60s` stays `60s` in messages, answers and files. */
export class Duration {
  readonly text: string;
  readonly ms: number;

  /** Throws a `RangeError` for a text that is no duration. */
  constructor(text: string) {
    const ms = parseDuration(text);
    if (ms === undefined) throw new RangeError(`'${text}' is not a duration such as 30s, 5m or 1h`);
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

/** Milliseconds of `60s`, `5m`, `1h`, `500ms`, `1d`; undefined when the text is no duration or over 400 days. */
export function parseDuration(text: string): number | undefined {
  const match = PATTERN.exec(text);
  if (match === null) return undefined;
  const ms = Number(match[1]) * UNIT_MS[match[2] as Unit];
  return ms <= LONGEST_MS ? ms : undefined;
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
