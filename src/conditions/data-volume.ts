import * as z from 'zod';

/** An amount of data that remembers how it was written: `10GB` stays `10GB` in messages, answers and files. */
export class DataVolume {
  readonly text: string;
  readonly amount: number;
  readonly unit: 'bytes' | 'events';

  /** Throws a `RangeError` for a text that is no volume. */
  constructor(text: string) {
    const read = readVolume(text);
    if (read === undefined) throw new RangeError(`'${text}' ${MUST}`);
    this.text = text;
    this.amount = read.amount;
    this.unit = read.unit;
  }

  toString(): string {
    return this.text;
  }

  toJSON(): string {
    return this.text;
  }
}

const MUST = 'must be bytes such as 500, 10MB or 1G, or events such as 10000 events';
const PATTERN = /^(\d{1,15})\s*(?:(B|[KMGTPEZY]B?)|(events?))?$/i;
const PREFIXES = 'KMGTPEZY';

/** Units grow by 1,024 (K is 1,024 bytes); a bare number is bytes. */
function readVolume(text: string): Pick<DataVolume, 'amount' | 'unit'> | undefined {
  const [, digits, unit = '', events] = PATTERN.exec(text) ?? [];
  if (digits === undefined) return undefined;
  if (events !== undefined) return { amount: Number(digits), unit: 'events' };
  const power = PREFIXES.indexOf(unit.charAt(0).toUpperCase() || ' ') + 1;
  return { amount: Number(digits) * 1024 ** power, unit: 'bytes' };
}

export const dataVolume = z
  .string()
  .transform((text, context): DataVolume => {
    if (readVolume(text) !== undefined) return new DataVolume(text);
    context.addIssue({ code: 'custom', message: MUST, input: text });
    return z.NEVER;
  })
  .meta({ format: 'data-volume' });
