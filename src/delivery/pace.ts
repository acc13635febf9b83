import type { Rate } from '../lib/rate.ts';

/** Beginnings that are remembered: a rate of more is kept in a part of its length that has so many. */
const MOST_REMEMBERED = 10_000;

/** When a target may be sent to next. Times are of the monotonic clock. */
export interface Pace {
  /** Counts from the next attempt on; undefined for no limit. Those with the same `key` keep to it together. */
  limit(rate: Rate | undefined, key?: string): void;
  /** The earliest moment of the next attempt, or so many at once, in the past when that may be made now. */
  freeAt(count?: number): number;
  /** An attempt begins, or so many. */
  begun(now: number, count?: number): void;
  /** The attempt that began then sends nothing after all, or so many of them. */
  unused(began: number, count?: number): void;
  /** Nothing is sent before `until`. */
  pause(until: number): void;
  /** Ends a pause. */
  resume(): void;
  /** Nothing is sent any more: its limit counts no longer for those it shared it with. */
  end(): void;
}

interface Limit {
  readonly text: string;
  readonly count: number;
  readonly perMs: number;
}

/** What was begun by all that keep to their limits together. */
interface Track {
  begins: number[];
  /** Of those that have one. */
  readonly limits: Map<object, Limit>;
  /** Of all. */
  readonly wakes: Map<object, () => void>;
}

const newTrack = (): Track => ({ begins: [], limits: new Map(), wakes: new Map() });

/** Paces that know of each other; `wake` is called when another one's change may have freed this one. */
export function createPaces(): (wake: () => void) => Pace {
  const tracks = new Map<string, Track>();
  return wake => createPace(wake, tracks);
}

/**
 * A rate is kept in every stretch of its length: `30/minute` lets 30 go at once, and the next when the first of them is a
 * minute ago. Of several that share a track the slowest counts for all, lest the quicker leave the others no turn.
 */
export function createPace(wake = () => {}, tracks = new Map<string, Track>()): Pace {
  const self = {};
  let key: string | undefined;
  let track = newTrack();
  let pausedUntil = 0;

  function leave(): void {
    track.limits.delete(self);
    track.wakes.delete(self);
    if (key !== undefined && track.wakes.size === 0) tracks.delete(key);
    for (const other of track.wakes.values()) other();
  }

  function join(next: string | undefined): void {
    leave();
    key = next;
    track = (next === undefined ? undefined : tracks.get(next)) ?? newTrack();
    track.wakes.set(self, wake);
    if (next !== undefined) tracks.set(next, track);
  }

  return {
    limit(next, nextKey) {
      if (nextKey !== key) join(nextKey);
      if (next?.text === track.limits.get(self)?.text) return;
      if (next === undefined) track.limits.delete(self);
      else track.limits.set(self, inMemory(next));
      for (const [other, wakeIt] of track.wakes) if (other !== self) wakeIt();
    },
    freeAt(wanted = 1) {
      const { begins } = track;
      let free = pausedUntil;
      for (const { count, perMs } of track.limits.values()) {
        const oldest = begins[begins.length - count + wanted - 1];
        if (oldest !== undefined) free = Math.max(free, oldest + perMs);
      }
      return free;
    },
    begun(now, count = 1) {
      let longestMs = 0;
      for (const { perMs } of track.limits.values()) longestMs = Math.max(longestMs, perMs);
      const passed = track.begins.findIndex(time => time + longestMs > now);
      if (passed !== 0) track.begins = passed < 0 ? [] : track.begins.slice(passed);
      if (track.limits.size === 0) return;
      for (let one = 0; one < count; one++) track.begins.push(now);
    },
    unused(began, count = 1) {
      const { begins } = track;
      const last = begins.lastIndexOf(began);
      const first = Math.max(begins.indexOf(began), last - count + 1);
      if (last >= 0) begins.splice(first, last - first + 1);
    },
    pause(until) {
      pausedUntil = Math.max(pausedUntil, until);
    },
    resume() {
      pausedUntil = 0;
    },
    end: leave,
  };
}

function inMemory({ text, count, perMs }: Rate): Limit {
  const share = Math.min(1, MOST_REMEMBERED / count);
  return { text, count: Math.round(count * share), perMs: perMs * share };
}
