import * as z from 'zod';

const UNIT_MS = { second: 1000, minute: 60_000, hour: 3_600_000, day: 86_400_000 } as const;

/** So many in so much time; serialises as it was written. */
export class Rate {
  readonly text: string;
  readonly count: number;
  readonly perMs: number;

  constructor(text: string, count: number, perMs: number) {
    this.text = text;
    this.count = count;
    this.perMs = perMs;
  }

  toJSON(): string {
    return this.text;
  }
}

/** `2/second`, `30/minute`, `100/hour` or `1000/day`; a default goes in as text, by `prefault`. */
export const rate = z
  .string()
  .transform((text, context): Rate => {
    const match = /^([1-9]\d{0,8})\/(second|minute|hour|day)$/.exec(text);
    const unit = match?.[2];
    if (unit === 'second' || unit === 'minute' || unit === 'hour' || unit === 'day')
      return new Rate(text, Number(match?.[1]), UNIT_MS[unit]);
    context.addIssue({
      code: 'custom',
      message: 'must be a rate such as 2/second, 30/minute, 100/hour or 1000/day',
      input: text,
    });
    return z.NEVER;
  })
  .meta({ format: 'rate' });
