import type { Rate } from '../lib/rate.ts';

/** Beginnings that are remembered: a rate of more is kept in a part of its length that has so many. */
const MOST_REMEMBERED = 10_000;

/** When a target may be sent to next. Times are of the monotonic clock. */
export interface Pace {
  /** Counts from the next attempt on; undefined for no limit. */
  limit(rate: Rate | undefined): void;
  /** The earliest moment of the next attempt, in the past when that may be made now. */
  freeAt(): number;
  /** An attempt begins. */
  begun(now: number): void;
  /** The attempt that began then sends nothing after all. */
  unused(began: number): void;
  /** Nothing is sent before `until`. */
  pause(until: number): void;
  /** Ends a pause. */
  resume(): void;
}

/**
 * A rate is kept in every stretch of its length: `30/minute` lets 30 go at once, and the next when the first of them is a
 * minute ago.
 */
export function createPace(): Pace {
  let text: string | undefined;
  let rate: { readonly count: number; readonly perMs: number } | undefined;
  let begins: number[] = [];
  let pausedUntil = 0;

  return {
    limit(next) {
      if (next?.text === text) return;
      text = next?.text;
      rate = next && inMemory(next);
    },
    freeAt() {
      const oldest = rate && begins[begins.length - rate.count];
      return rate === undefined || oldest === undefined
        ? pausedUntil
        : Math.max(pausedUntil, oldest + rate.perMs);
    },
    begun(now) {
      if (rate === undefined) {
        begins = [];
        return;
      }
      const { perMs } = rate;
      const passed = begins.findIndex(time => time + perMs > now);
      if (passed !== 0) begins = passed < 0 ? [] : begins.slice(passed);
      begins.push(now);
    },
    unused(began) {
      const place = begins.lastIndexOf(began);
      if (place >= 0) begins.splice(place, 1);
    },
    pause(until) {
      pausedUntil = Math.max(pausedUntil, until);
    },
    resume() {
      pausedUntil = 0;
    },
  };
}

function inMemory({ count, perMs }: Rate) {
  const share = Math.min(1, MOST_REMEMBERED / count);
  return { count: Math.round(count * share), perMs: perMs * share };
}
