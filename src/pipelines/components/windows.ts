/** Parts a window is divided into; one more is kept, as the newest is still filling. */
const PARTS = 60;
const KEPT = PARTS + 1;

/**
 * The sum of what was added over the last `ms` of monotonic time, in memory that does not grow with it: of the oldest part as
 * much counts as has not left the window, so a sum is at most a sixtieth of the window off in time.
 */
export interface SlidingWindow {
  readonly ms: number;
  /** A ring by number of the part since the clock's origin. */
  readonly parts: Float64Array;
  /** Number of the newest part. */
  newest: number;
  /** Monotonic ms from which it observes; before the process began where a snapshot says so. */
  since: number;
}

export const createWindow = (ms: number, now: number): SlidingWindow => ({
  ms,
  parts: new Float64Array(KEPT),
  newest: partAt(ms, now),
  since: now,
});

/** Adds an amount at a time, in monotonic ms, that is no earlier than any before. */
export function addToWindow(window: SlidingWindow, amount: number, now: number): void {
  slide(window, now);
  const at = window.newest % KEPT;
  window.parts[at] = (window.parts[at] ?? 0) + amount;
}

/** Time in which nothing was read, in monotonic ms, and how far apart readings are otherwise. */
export interface ReadingGap {
  readonly from: number;
  readonly to: number;
  readonly usualMs: number;
}

/**
 * Adds what was counted in a gap, as the readings that are missing would have: in equal parts, the last one now. What lies
 * before the window, or before it observed, is not in it.
 */
export function addOverGap(window: SlidingWindow, amount: number, { from, to, usualMs }: ReadingGap): void {
  slide(window, to);
  const { ms, parts, newest, since } = window;
  const step = Math.max(usualMs, partMs(ms));
  for (let at = to; at > from && at > since && partAt(ms, at) > newest - KEPT; at -= step) {
    const place = partAt(ms, at) % KEPT;
    parts[place] = (parts[place] ?? 0) + (amount * Math.min(step, at - from)) / (to - from);
  }
}

/** The sum of what was added in the `ms` before `now`. */
export function windowSum(window: SlidingWindow, now: number): number {
  slide(window, now);
  const { parts, newest, ms } = window;
  let sum = 0;
  for (const part of parts) sum += part;
  const left = now / partMs(ms) - newest;
  return sum - left * (parts[(newest + 1) % KEPT] ?? 0);
}

/** Amounts by age, the newest first: what a snapshot keeps, as a part's number means nothing after a restart. */
export function windowParts(window: SlidingWindow, now: number): Float64Array<ArrayBuffer> {
  slide(window, now);
  const { parts, newest } = window;
  return Float64Array.from({ length: KEPT }, (_, age) => parts[(newest - age + KEPT) % KEPT] ?? 0);
}

/** A window from its parts as `windowParts` gave them, which had observed `watchedMs`; time since then does not count. */
export function restoreWindow(
  ms: number,
  now: number,
  parts: Float64Array,
  watchedMs: number,
): SlidingWindow {
  const window = createWindow(ms, now);
  window.since = now - watchedMs;
  for (let age = 0; age < KEPT; age++)
    window.parts[(window.newest - age + KEPT * 2) % KEPT] = parts[age] ?? 0;
  return window;
}

const partMs = (ms: number): number => ms / PARTS;

const partAt = (ms: number, now: number): number => Math.floor(now / partMs(ms));

/** Empties the parts that time has passed. */
function slide(window: SlidingWindow, now: number): void {
  const { ms, parts, newest } = window;
  const present = partAt(ms, now);
  if (present <= newest) return;
  if (present - newest >= KEPT) parts.fill(0);
  else for (let part = newest + 1; part <= present; part++) parts[part % KEPT] = 0;
  window.newest = present;
}
