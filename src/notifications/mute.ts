import * as z from 'zod';
import type { Clock } from '../lib/clock.ts';

const TIME = /^(([01]\d|2[0-3]):[0-5]\d)-(([01]\d|2[0-3]):[0-5]\d|24:00)$/;

/** A span of the day; when its end is not after its start, it goes on past midnight. */
const timeSpan = z.string().refine(
  text => {
    const [, start, , end] = TIME.exec(text) ?? [];
    return start !== undefined && start !== end;
  },
  { error: "must be a span of the day such as '22:00-06:00', from 00:00 to 24:00" },
);

const WEEKDAYS = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'] as const;
const isWeekday = (text: string): boolean => WEEKDAYS.some(day => day === text || day.slice(0, 3) === text);

const weekdays = z.string().refine(
  text => {
    const [first = '', last = first, ...rest] = text.split('-');
    return rest.length === 0 && isWeekday(first) && isWeekday(last);
  },
  { error: "must be a weekday such as 'monday' or 'mon', or some in a row such as 'mon-fri'" },
);

/** Negative days count from the end of the month, -1 being its last day. */
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

const WINDOW_KEYS = ['times', 'weekdays', 'daysOfMonth', 'months'] as const;

const muteWindow = z
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
    if (WINDOW_KEYS.every(key => given[key] === undefined))
      context.addIssue({
        code: 'custom',
        message: `must name at least one of ${WINDOW_KEYS.join(', ')}; to mute always, set disabled`,
      });
  });

export type MuteWindow = z.output<typeof muteWindow>;

/** Windows in which messages wait. All parts that a window names must hold; one of several windows is enough. */
export const muteWindows = z.array(muteWindow).max(100);

/** The date and the time of day in a time zone. */
interface WallTime {
  readonly year: number;
  readonly month: number;
  readonly day: number;
  readonly minute: number;
}

const DAY_MINUTES = 24 * 60;
const DAY_MS = 86_400_000;
const formats = new Map<string, Intl.DateTimeFormat>();

function formatFor(timeZone: string): Intl.DateTimeFormat {
  const cached = formats.get(timeZone);
  if (cached !== undefined) return cached;
  const created = new Intl.DateTimeFormat('en', {
    timeZone,
    hourCycle: 'h23',
    calendar: 'gregory',
    numberingSystem: 'latn',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
  });
  formats.set(timeZone, created);
  return created;
}

function wallTime(at: number, timeZone: string): WallTime {
  const parts = new Map(
    formatFor(timeZone)
      .formatToParts(at)
      .map(part => [part.type, Number(part.value)]),
  );
  const { year = 0, month = 0, day = 0, hour = 0, minute = 0 } = Object.fromEntries(parts);
  return { year, month, day, minute: hour * 60 + minute };
}

/** Moves the date alone, so that no jump of the clock moves the day. */
function dayBefore({ year, month, day, minute }: WallTime): WallTime {
  const before = new Date(Date.UTC(year, month - 1, day) - DAY_MS);
  return {
    year: before.getUTCFullYear(),
    month: before.getUTCMonth() + 1,
    day: before.getUTCDate(),
    minute: minute + DAY_MINUTES,
  };
}

function minutesOf(text: string): number {
  const [hours = 0, minutes = 0] = text.split(':').map(Number);
  return hours * 60 + minutes;
}

/** Counts from midnight of the day the span begins; one that goes on past midnight ends after `DAY_MINUTES`. */
function isWithin(minute: number, span: string): boolean {
  const [from = 0, until = 0] = span.split('-').map(minutesOf);
  return minute >= from && minute < (until > from ? until : until + DAY_MINUTES);
}

const weekdayNumber = (name: string): number =>
  WEEKDAYS.findIndex(day => day.slice(0, 3) === name.slice(0, 3));

function isInWeekdays(weekday: number, text: string): boolean {
  const [first = '', last = first] = text.split('-');
  const [from, until] = [weekdayNumber(first), weekdayNumber(last)];
  return from <= until ? weekday >= from && weekday <= until : weekday >= from || weekday <= until;
}

function isOnDay(window: MuteWindow, { year, month, day }: WallTime): boolean {
  const { weekdays, daysOfMonth, months } = window;
  const weekday = (new Date(Date.UTC(year, month - 1, day)).getUTCDay() + 6) % 7;
  const fromEnd = day - new Date(Date.UTC(year, month, 0)).getUTCDate() - 1;
  return (
    weekdays?.some(text => isInWeekdays(weekday, text)) !== false &&
    daysOfMonth?.some(one => one === day || one === fromEnd) !== false &&
    months?.includes(month) !== false
  );
}

function isInWindow(window: MuteWindow, at: number): boolean {
  const today = wallTime(at, window.timezone);
  if (window.times === undefined) return isOnDay(window, today);
  return [today, dayBefore(today)].some(
    wall => isOnDay(window, wall) && window.times?.some(span => isWithin(wall.minute, span)) === true,
  );
}

/** True when messages are muted at `at` (epoch ms). A span that goes on past midnight belongs to the day it begins. */
export const isMuted = (windows: readonly MuteWindow[], at: number): boolean =>
  windows.some(window => isInWindow(window, at));

/** Checks if messages of a notification are muted now; each answer holds for a minute. */
export interface MuteCheck {
  isMuted(notification: string, windows: readonly MuteWindow[]): boolean;
  /** Forgets the answers when windows have changed. */
  reset(): void;
}

const MINUTE_MS = 60_000;

export function createMuteCheck(clock: Pick<Clock, 'now'>): MuteCheck {
  const answers = new Map<string, boolean>();
  let answeredIn = -1;
  return {
    isMuted(notification, windows) {
      if (windows.length === 0) return false;
      const minute = Math.floor(clock.now() / MINUTE_MS);
      if (minute !== answeredIn) answers.clear();
      answeredIn = minute;
      const answer = answers.get(notification) ?? isMuted(windows, clock.now());
      answers.set(notification, answer);
      return answer;
    },
    reset: () => answers.clear(),
  };
}
