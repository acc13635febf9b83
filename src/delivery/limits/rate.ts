import type { Rate } from '../../lib/rate.ts';

/** Attempts that are remembered: a higher rate is kept in a part of its length that has so many. */
const MAX_REMEMBERED = 10_000;

/** Limits how often a target is sent to. Times are of the monotonic clock. */
export interface RateLimiter {
  /** Counts from the next attempt on; undefined for no limit. Those with the same `key` keep to it together. */
  setLimit(rate: Rate | undefined, key?: string): void;
  /** The earliest moment of the next attempt, or so many at once, in the past when that may be made now. */
  nextFreeAt(count?: number): number;
  /** An attempt begins, or so many. */
  record(now: number, count?: number): void;
  /** The attempt that began then sends nothing after all, or so many of them. */
  refund(startedAt: number, count?: number): void;
  /** Until when nothing is sent because of a pause; in the past without one. */
  pausedUntil(): number;
  /** Nothing is sent before `until`. */
  pause(until: number): void;
  /** Ends a pause. */
  resume(): void;
  /** Nothing is sent any more: its limit counts no longer for those it shared it with. */
  close(): void;
}

interface Limit {
  readonly text: string;
  readonly count: number;
  readonly perMs: number;
}

/** The attempts of all rate limiters with the same key. */
interface SharedWindow {
  starts: number[];
  readonly limits: Map<object, Limit>;
  readonly wakes: Map<object, () => void>;
}

const createWindow = (): SharedWindow => ({ starts: [], limits: new Map(), wakes: new Map() });

/** Rate limiters that share limits by key; `wake` is called when a change of another one may have freed this one. */
export function createRateLimiters(): (wake: () => void) => RateLimiter {
  const windows = new Map<string, SharedWindow>();
  return wake => createRateLimiter(wake, windows);
}

/**
 * A rate is kept in every stretch of its length: `30/minute` lets 30 go at once, and the next when the first of them is a
 * minute ago. Of several with the same key the slowest counts for all, or the quicker would starve the others.
 */
export function createRateLimiter(wake = () => {}, windows = new Map<string, SharedWindow>()): RateLimiter {
  const self = {};
  let key: string | undefined;
  let window = createWindow();
  let pausedUntil = 0;

  function leave(): void {
    window.limits.delete(self);
    window.wakes.delete(self);
    if (key !== undefined && window.wakes.size === 0) windows.delete(key);
    for (const other of window.wakes.values()) other();
  }

  function join(next: string | undefined): void {
    leave();
    key = next;
    window = (next === undefined ? undefined : windows.get(next)) ?? createWindow();
    window.wakes.set(self, wake);
    if (next !== undefined) windows.set(next, window);
  }

  return {
    setLimit(next, nextKey) {
      if (nextKey !== key) join(nextKey);
      if (next?.text === window.limits.get(self)?.text) return;
      if (next === undefined) window.limits.delete(self);
      else window.limits.set(self, boundedLimit(next));
      for (const [other, wakeOther] of window.wakes) if (other !== self) wakeOther();
    },
    nextFreeAt(wanted = 1) {
      const { starts } = window;
      let free = pausedUntil;
      for (const { count, perMs } of window.limits.values()) {
        const oldest = starts[starts.length - count + wanted - 1];
        if (oldest !== undefined) free = Math.max(free, oldest + perMs);
      }
      return free;
    },
    record(now, count = 1) {
      let longestMs = 0;
      for (const { perMs } of window.limits.values()) longestMs = Math.max(longestMs, perMs);
      const passed = window.starts.findIndex(time => time + longestMs > now);
      if (passed !== 0) window.starts = passed < 0 ? [] : window.starts.slice(passed);
      if (window.limits.size === 0) return;
      for (let one = 0; one < count; one++) window.starts.push(now);
    },
    refund(startedAt, count = 1) {
      const { starts } = window;
      const last = starts.lastIndexOf(startedAt);
      const first = Math.max(starts.indexOf(startedAt), last - count + 1);
      if (last >= 0) starts.splice(first, last - first + 1);
    },
    pausedUntil: () => pausedUntil,
    pause(until) {
      pausedUntil = Math.max(pausedUntil, until);
    },
    resume() {
      pausedUntil = 0;
    },
    close: leave,
  };
}

function boundedLimit({ text, count, perMs }: Rate): Limit {
  const scale = Math.min(1, MAX_REMEMBERED / count);
  return { text, count: Math.round(count * scale), perMs: perMs * scale };
}
