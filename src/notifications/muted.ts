import { type MuteWindow, WEEKDAYS } from './mute-windows.ts';

/** What a calendar and a clock on a wall show. */
interface WallTime {
  readonly year: number;
  readonly month: number;
  readonly day: number;
  readonly minute: number;
}

const DAY_MINUTES = 24 * 60;
const DAY_MS = 86_400_000;
const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(timeZone: string): Intl.DateTimeFormat {
  const known = formats.get(timeZone);
  if (known !== undefined) return known;
  const made = new Intl.DateTimeFormat('en', {
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
  formats.set(timeZone, made);
  return made;
}

function wallTime(at: number, timeZone: string): WallTime {
  const parts = new Map(
    formatOf(timeZone)
      .formatToParts(at)
      .map(part => [part.type, Number(part.value)]),
  );
  const { year = 0, month = 0, day = 0, hour = 0, minute = 0 } = Object.fromEntries(parts);
  return { year, month, day, minute: hour * 60 + minute };
}

/** The date alone is moved, so that no jump of the clock moves the day. */
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

/** Counted from midnight of the day it begins; one that goes on past midnight ends after `DAY_MINUTES`. */
function isWithin(minute: number, span: string): boolean {
  const [from = 0, until = 0] = span.split('-').map(minutesOf);
  return minute >= from && minute < (until > from ? until : until + DAY_MINUTES);
}

const weekdayNumber = (name: string): number =>
  WEEKDAYS.findIndex(day => day.slice(0, 3) === name.slice(0, 3));

function isAmong(weekday: number, text: string): boolean {
  const [first = '', last = first] = text.split('-');
  const [from, until] = [weekdayNumber(first), weekdayNumber(last)];
  return from <= until ? weekday >= from && weekday <= until : weekday >= from || weekday <= until;
}

function isOnDay(window: MuteWindow, { year, month, day }: WallTime): boolean {
  const { weekdays, daysOfMonth, months } = window;
  const weekday = (new Date(Date.UTC(year, month - 1, day)).getUTCDay() + 6) % 7;
  const fromEnd = day - new Date(Date.UTC(year, month, 0)).getUTCDate() - 1;
  return (
    weekdays?.some(text => isAmong(weekday, text)) !== false &&
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

/** Whether messages are held back at `at` (epoch ms). A span that goes on past midnight belongs to the day it begins. */
export const isMuted = (windows: readonly MuteWindow[], at: number): boolean =>
  windows.some(window => isInWindow(window, at));
