/**
 * The model of a counter that docs/reference/counters.md describes: what readings of a cumulative counter prove about
 * it. A counter that goes on from where it was has not restarted, whatever a time says; a time decides only between
 * readings that the numbers leave open. Times and starts are in ms, NaN where there is none.
 */

import type { SenderClock } from '../components/state.ts';

/** What a reading shows of a counter, compared with the one before. */
export type CounterChange = 'went on' | 'began anew' | 'nothing new';

/** A value as its sender stamped it. */
export interface StampedValue {
  readonly value: number;
  readonly time: number;
  /** When the counter began, as its sender says. */
  readonly start: number;
}

/**
 * The change on a page that was read now. What times its lines have says nothing: a page shows what is now. A series that
 * was absent from a good page which showed others of its process had ended, so it began anew, unless it goes on from
 * where it was: then the page was incomplete. A small count is soon reached again, and shows neither.
 */
export function changeOnPage(last: number, value: number, wasAbsent: boolean): CounterChange {
  const hasEnded = wasAbsent && !(last >= SMALLEST_TELLING && goesOn(last, value));
  return value < last || hasEnded ? 'began anew' : 'went on';
}

/**
 * The change that a push shows; pushes come late, again and out of order. `isPresent`: the sender's clock was set back,
 * and by the new clock the push is of now.
 */
export function changeInPush(last: StampedValue, pushed: StampedValue, isPresent: boolean): CounterChange {
  if (pushed.value >= last.value)
    return isOfEarlierProcess(last, pushed) && !isPresent ? 'nothing new' : 'went on';
  const isDatedBefore = pushed.time <= last.time;
  return !isDatedBefore || isPresent || pushed.start > last.start ? 'began anew' : 'nothing new';
}

/** A late push of a process that ended before the present one began. */
export const isOfEarlierProcess = (last: StampedValue, pushed: StampedValue): boolean =>
  pushed.start < last.start && pushed.time <= last.start;

/** A count from which on to be there again is no coincidence. */
const SMALLEST_TELLING = 100;

/** What a counter counted between two readings. */
export function increaseOf(change: CounterChange, last: number, value: number): number {
  if (change === 'nothing new') return 0;
  return change === 'began anew' ? value : value - last;
}

/**
 * Increase of a counter that was never read before. On an instance whose earlier readings lacked it, it began in between
 * and counts in full; on an instance met for the first time, and where its start is unknown, it is where counting begins.
 */
export function firstIncrease(value: number, instanceWasRead: boolean, isStartUnknown: boolean): number {
  return instanceWasRead && !isStartUnknown ? value : 0;
}

/** A start that is the time of its own value is an unknown one (OpenTelemetry data model, Cumulative streams: unknown start time). */
export const isUnknownStart = ({ start, time }: Pick<StampedValue, 'start' | 'time'>): boolean =>
  start === time;

/** The time at which a process says it began, beside what was known when its page was last read. */
export interface StartEvidence {
  readonly start: number;
  /** What the page before said. */
  readonly lastStart: number;
  /** Epoch ms of the present reading. */
  readonly now: number;
  /** Ms since the last good reading. */
  readonly sinceMs: number;
}

/**
 * True when a new start would prove a restart if the numbers leave one open: the uptime it implies is shorter than the
 * time since the last good reading, so it lies after that.
 */
export const claimsRestart = ({ start, lastStart, now, sinceMs }: StartEvidence): boolean =>
  start > lastStart && now - start < sinceMs;

/** A counter that grew by less than this share of what it stood at speaks against a restart of its process. */
const SMALL_GROWTH = 0.1;

/** True when the numbers alone show that a counter was not begun anew. */
export const goesOn = (last: number, value: number): boolean =>
  last > 0 && value >= last && value - last < last * SMALL_GROWTH;

/** How the counters of a process moved in one reading. */
export interface ProcessVote {
  /** A counter is below where it was. */
  readonly fell: boolean;
  /** A counter goes on from where it was. */
  readonly wentOn: boolean;
}

/** Decides on a restart that a time claims: a process restarts as a whole, so one counter speaks for all of them. */
export const isRestart = ({ fell, wentOn }: ProcessVote): boolean => fell || !wentOn;

const SHORTEST_PACE_MS = 1000;
const TOLERANCE_MS = 2000;

/**
 * The sender's clock after a push that is below what is known and dated before it. Pushes that come late come in a bunch,
 * or between others; a clock that was set back goes on as our own does. Two such pushes, one after the other, show which.
 */
export function nextSenderClock(
  clock: SenderClock | undefined,
  push: Omit<SenderClock, 'isConfirmed'>,
): SenderClock {
  if (clock?.reading === push.reading) return clock;
  const ms = clock === undefined ? 0 : push.monotonic - clock.monotonic;
  const keepsPace = clock !== undefined && Math.abs(push.time - clock.time - ms) <= TOLERANCE_MS;
  const follows = clock?.isConfirmed === true || clock?.reading === push.reading - 1;
  return { ...push, isConfirmed: keepsPace && follows && ms >= SHORTEST_PACE_MS };
}
