import * as z from 'zod';

const TIME = /^(([01]\d|2[0-3]):[0-5]\d)-(([01]\d|2[0-3]):[0-5]\d|24:00)$/;

/** A span of the day; one whose end is not after its start goes on past midnight. */
const timeSpan = z.string().refine(
  text => {
    const [, start, , end] = TIME.exec(text) ?? [];
    return start !== undefined && start !== end;
  },
  { error: "must be a span of the day such as '22:00-06:00', from 00:00 to 24:00" },
);

export const WEEKDAYS = [
  'monday',
  'tuesday',
  'wednesday',
  'thursday',
  'friday',
  'saturday',
  'sunday',
] as const;
const isWeekday = (text: string): boolean => WEEKDAYS.some(day => day === text || day.slice(0, 3) === text);

const weekdays = z.string().refine(
  text => {
    const [first = '', last = first, ...rest] = text.split('-');
    return rest.length === 0 && isWeekday(first) && isWeekday(last);
  },
  { error: "must be a weekday such as 'monday' or 'mon', or some in a row such as 'mon-fri'" },
);

/** Negative ones count from the end of the month, -1 being its last day. */
const dayOfMonth = z
  .int()
  .min(-31)
  .max(31)
  .refine(day => day !== 0, { error: 'must be 1 to 31, or -1 to -31 from the end of the month' });

const timezone = z
  .string()
  .min(1)
  .max(64)
  .refine(isTimezone, { error: "must be a time zone such as 'UTC' or 'Europe/Berlin'" });

function isTimezone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}

const LIMITS = ['times', 'weekdays', 'daysOfMonth', 'months'] as const;

const window = z
  .strictObject({
    times: z.array(timeSpan).min(1).max(24).optional().describe("Spans of the day: '22:00-06:00'."),
    weekdays: z.array(weekdays).min(1).max(7).optional().describe("Weekdays: 'sat', or 'mon-fri'."),
    daysOfMonth: z
      .array(dayOfMonth)
      .min(1)
      .max(62)
      .optional()
      .describe('Days of the month; negative ones count from its end.'),
    months: z.array(z.int().min(1).max(12)).min(1).max(12).optional().describe('Months, 1 to 12.'),
    timezone: timezone.default('UTC').describe('Time zone in which times and days are meant.'),
  })
  .superRefine((given, context) => {
    if (LIMITS.every(key => given[key] === undefined))
      context.addIssue({
        code: 'custom',
        message: `must name at least one of ${LIMITS.join(', ')}; to mute always, set disabled`,
      });
  });

export type MuteWindow = z.output<typeof window>;

/** When messages are held back. What a window names must all hold; one of several windows is enough. */
export const muteWindows = z.array(window).max(100);
