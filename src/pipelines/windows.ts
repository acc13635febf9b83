import type { Measured } from './component.ts';
import { COUNTERS, type Windowed } from './metric.ts';
import type { Row, RowWindow } from './state.ts';
import { addTo, createWindow, sumOf } from './window.ts';

/** As many windows of one component are kept. */
const MOST_WINDOWS = 64;
/** One that nobody has asked for that long is let go. */
const UNASKED_MS = 60_000;

/** Whoever asks for the first time begins a window; undefined when the component has as many as it may. */
export function measure(row: Row, metric: Windowed, ms: number, now: number): Measured | undefined {
  const known = row.windows.find(one => one.metric === metric && one.window.ms === ms);
  const found = known ?? begin(row, metric, ms, now);
  if (found === undefined) return undefined;
  found.askedAt = now;
  return { sum: sumOf(found.window, now), watchedMs: now - found.window.since };
}

function begin(row: Row, metric: Windowed, ms: number, now: number): RowWindow | undefined {
  forgetUnasked(row, now);
  if (row.windows.length >= MOST_WINDOWS) return undefined;
  const begun = { metric, window: createWindow(ms, now), askedAt: now };
  row.windows.push(begun);
  return begun;
}

export function forgetUnasked(row: Row, now: number): void {
  for (let at = row.windows.length - 1; at >= 0; at--)
    if (now - (row.windows[at]?.askedAt ?? 0) >= UNASKED_MS) row.windows.splice(at, 1);
}

/** Adds to every window on the metric. */
export function book(row: Row, metric: Windowed, amount: number, now: number): void {
  if (amount === 0) return;
  for (const one of row.windows) if (one.metric === metric) addTo(one.window, amount, now);
}

/** Adds the increases of a reading, in the order of `COUNTERS`. */
export function bookIncreases(row: Row, increases: readonly number[], now: number): void {
  if (row.windows.length === 0) return;
  COUNTERS.forEach((counter, at) => {
    book(row, counter, increases[at] ?? 0, now);
  });
}
