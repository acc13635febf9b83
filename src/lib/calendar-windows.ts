import * as z from 'zod';
import type { Clock } from './clock.ts';
import { timezone, type WallTime, wallTime } from './timezone.ts';

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

const WINDOW_KEYS = ['times', 'weekdays', 'daysOfMonth', 'months'] as const;

const calendarWindow = z
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
        message: `must name at least one of ${WINDOW_KEYS.join(', ')}`,
      });
  });

export type CalendarWindow = z.output<typeof calendarWindow>;

/** Windows of time that recur. All parts that a window names must hold; one of several windows is enough. */
export const calendarWindows = z.array(calendarWindow).max(100);

const DAY_MINUTES = 24 * 60;
const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

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

function isOnDay(window: CalendarWindow, { year, month, day }: WallTime): boolean {
  const { weekdays, daysOfMonth, months } = window;
  const weekday = (new Date(Date.UTC(year, month - 1, day)).getUTCDay() + 6) % 7;
  const fromEnd = day - new Date(Date.UTC(year, month, 0)).getUTCDate() - 1;
  return (
    weekdays?.some(text => isInWeekdays(weekday, text)) !== false &&
    daysOfMonth?.some(one => one === day || one === fromEnd) !== false &&
    months?.includes(month) !== false
  );
}

function isInWindow(window: CalendarWindow, at: number): boolean {
  const today = wallTime(at, window.timezone);
  if (window.times === undefined) return isOnDay(window, today);
  return [today, dayBefore(today)].some(
    wall => isOnDay(window, wall) && window.times?.some(span => isWithin(wall.minute, span)) === true,
  );
}

/** True when `at` (epoch ms) is in one of them. A span that goes on past midnight belongs to the day it begins. */
export const isInWindows = (windows: readonly CalendarWindow[], at: number): boolean =>
  windows.some(window => isInWindow(window, at));

/** When a time is in none of the windows any more, and in which one until then. */
export interface WindowsEnd {
  /** Epoch ms; undefined when that is more than `MAX_STEPS` spans away. */
  readonly at: number | undefined;
  /** Index of the last window. */
  readonly window: number;
  readonly timezone: string;
  /** The time of day in that zone, such as `06:00`, with the date when that is another day. */
  readonly localTime: string;
}

/** Spans that are looked at: windows of whole days may follow one another all year. */
const MAX_STEPS = 1000;

/** Undefined when `at` (epoch ms) is in none of the windows. */
export function windowsEnd(windows: readonly CalendarWindow[], at: number): WindowsEnd | undefined {
  let end = Math.floor(at / MINUTE_MS) * MINUTE_MS;
  let last: { readonly window: CalendarWindow; readonly index: number } | undefined;
  for (let step = 0; step < MAX_STEPS; step++) {
    const now = end;
    const index = windows.findIndex(window => isInWindow(window, now));
    const window = windows[index];
    if (window === undefined) return last && windowsEndAt(last, at, end);
    last = { window, index };
    end = spanEnd(window, end);
  }
  return last && windowsEndAt(last, at, undefined);
}

function windowsEndAt(
  { window: { timezone }, index }: { readonly window: CalendarWindow; readonly index: number },
  now: number,
  at: number | undefined,
): WindowsEnd {
  if (at === undefined) return { at, window: index, timezone, localTime: '' };
  const today = wallTime(now, timezone);
  const { year, month, day, minute } = wallTime(at, timezone);
  const two = (number: number): string => String(number).padStart(2, '0');
  const time = `${two(Math.floor(minute / 60))}:${two(minute % 60)}`;
  const isToday = today.year === year && today.month === month && today.day === day;
  const isSoon = isToday || at - now < DAY_MS / 2;
  return {
    at,
    window: index,
    timezone,
    localTime: isSoon ? time : `${year}-${two(month)}-${two(day)} ${time}`,
  };
}

/** The end of the span or of the day that `at` is in; a minute on where clocks change before that. */
function spanEnd({ times, timezone }: CalendarWindow, at: number): number {
  const { minute } = wallTime(at, timezone);
  const ends = (times ?? []).flatMap(span => {
    const [from = 0, until = 0] = span.split('-').map(minutesOf);
    const last = until > from ? until : until + DAY_MINUTES;
    return [minute, minute + DAY_MINUTES].flatMap(one => (one >= from && one < last ? [last - one] : []));
  });
  const restMinutes = Math.min(DAY_MINUTES - minute, ...ends);
  const end = at + restMinutes * MINUTE_MS;
  return wallTime(end, timezone).minute === (minute + restMinutes) % DAY_MINUTES ? end : at + MINUTE_MS;
}

/** Checks if it is a time of windows now; each answer holds for a minute. */
export interface WindowsCheck {
  isIn(owner: string, windows: readonly CalendarWindow[]): boolean;
  /** Forgets the answers when windows have changed. */
  reset(): void;
}

export function createWindowsCheck(clock: Pick<Clock, 'now'>): WindowsCheck {
  const answers = new Map<string, boolean>();
  let answeredIn = -1;
  return {
    isIn(owner, windows) {
      if (windows.length === 0) return false;
      const minute = Math.floor(clock.now() / MINUTE_MS);
      if (minute !== answeredIn) answers.clear();
      answeredIn = minute;
      const answer = answers.get(owner) ?? isInWindows(windows, clock.now());
      answers.set(owner, answer);
      return answer;
    },
    reset: () => answers.clear(),
  };
}
