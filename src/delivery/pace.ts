import type { Rate } from '../lib/rate.ts';

/** Beginnings that are remembered: a rate of more is kept in a part of its length that has so many. */
const MOST_REMEMBERED = 10_000;

/** When a target may be sent to next. Times are of the monotonic clock. */
export interface Pace {
  /** Counts from the next attempt on; undefined for no limit. Those with the same `key` keep to it together. */
  limit(rate: Rate | undefined, key?: string): void;
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
    freeAt() {
      const { begins } = track;
      let free = pausedUntil;
      for (const { count, perMs } of track.limits.values()) {
        const oldest = begins[begins.length - count];
        if (oldest !== undefined) free = Math.max(free, oldest + perMs);
      }
      return free;
    },
    begun(now) {
      let longestMs = 0;
      for (const { perMs } of track.limits.values()) longestMs = Math.max(longestMs, perMs);
      const passed = track.begins.findIndex(time => time + longestMs > now);
      if (passed !== 0) track.begins = passed < 0 ? [] : track.begins.slice(passed);
      if (track.limits.size > 0) track.begins.push(now);
    },
    unused(began) {
      const place = track.begins.lastIndexOf(began);
      if (place >= 0) track.begins.splice(place, 1);
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
