import * as z from 'zod';

/** The name of a time zone, as the tz database has it. */
export const timezone = z
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

/** What a clock on the wall shows. */
export interface WallTime {
  readonly year: number;
  /** 1 to 12. */
  readonly month: number;
  readonly day: number;
  /** Since midnight. */
  readonly minute: number;
}

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

export function wallTime(at: number, timeZone: string): WallTime {
  const parts = new Map(
    formatFor(timeZone)
      .formatToParts(at)
      .map(part => [part.type, Number(part.value)]),
  );
  const { year = 0, month = 0, day = 0, hour = 0, minute = 0 } = Object.fromEntries(parts);
  return { year, month, day, minute: hour * 60 + minute };
}

const MINUTE_MS = 60_000;
const DAY_MS = 1440 * MINUTE_MS;

/** How far a clock on the wall is ahead of UTC at a time (epoch ms), in ms. */
function offsetMs(at: number, timeZone: string): number {
  if (timeZone === 'UTC') return 0;
  const { year, month, day, minute } = wallTime(at, timeZone);
  return Date.UTC(year, month - 1, day) + minute * MINUTE_MS - Math.floor(at / MINUTE_MS) * MINUTE_MS;
}

/**
 * When (epoch ms) a clock on the wall showed the same time so many days before. Of a time that a clock showed twice that
 * day it is one of the two, of one that it left out an hour to either side.
 */
export function sameTimeDaysBefore(at: number, days: number, timeZone: string): number {
  const now = offsetMs(at, timeZone);
  const first = at - days * DAY_MS;
  const then = first + now - offsetMs(first, timeZone);
  // The first guess may lie on the other side of a change of the clock.
  return first + now - offsetMs(then, timeZone);
}
