import { COUNTERS, type Windowed } from '../metric.ts';
import type { Component, Measurement } from './component.ts';
import type { HealthFinding } from './health.ts';
import { addToWindow, createWindow, type SlidingWindow, windowSum } from './windows.ts';

/** A component and how it is. */
export interface ComponentState {
  readonly component: Component;
  /** Since it was first seen, by the order of `COUNTERS`. */
  readonly totals: number[];
  /** Bits of the metrics any series of it told. */
  knownMetrics: number;
  /** Monotonic ms from which its silence counts; before the process began where a snapshot says so. */
  silentSince: number;
  /** Epoch ms. */
  lastDataAt: number | null;
  /** Epoch ms of the last sign of life. */
  timestamp: number | null;
  /** Monotonic ms of the last sign of life. */
  lastSeenAt: number;
  replicas: readonly Replica[];
  /** What conditions look back over. */
  readonly windows: ComponentWindow[];
}

/** A window on a component that somebody asks for. */
interface ComponentWindow {
  readonly metric: Windowed;
  readonly window: SlidingWindow;
  /** Monotonic ms. */
  lastUsedAt: number;
}

/** What a reading brought to a replica, by the place of counters and gauges, until it is settled. */
export interface Accumulator {
  readonly sums: number[];
  /** NaN of what was not told. */
  readonly gauges: number[];
  /** Changes of levels, scaled. */
  level: number;
  /** A counter started again, so levels of before say nothing. */
  restarted: boolean;
  /** It is compared with a snapshot: volume, but no data. */
  isFromSnapshot: boolean;
}

/** A component in one instance. */
export interface Replica {
  readonly state: ComponentState;
  readonly instance: Instance;
  /** Slots that lead here; without any the replica is gone. */
  entryCount: number;
  /** The reading that last named it. */
  lastReading: number;
  /** What `out_events` still owes: it was counted as sent and came back. Never above 0. */
  overcount: number;
  /** Gauges as they stand, NaN when unknown. */
  readonly gauges: number[];
  /** What the present reading brought; undefined until it brings something. */
  accumulator: Accumulator | undefined;
  finding: HealthFinding | undefined;
  /** Monotonic ms of the last evidence for `finding`. */
  foundAt: number;
  /** Monotonic ms up to which its state has been booked; NaN before the first reading. */
  recordedAt: number;
  /** Monotonic ms of the last good reading; NaN before the first. */
  committedAt: number;
}

/** One process of an engine, as far as one feed tells. */
export interface Instance {
  readonly name: string;
  readonly source: ScrapeSourceState;
  /** Good readings that named it since the start. */
  readings: number;
  /** The feed's reading that last named it. */
  lastReading: number;
  /** A push brought a series for the second time: its first round is over, and what is new from here on was born. */
  repeated: boolean;
  /** It is known from a snapshot. */
  restored: boolean;
  /** Monotonic ms of the last sign of life. */
  lastSeenAt: number;
  /** `readings` at the last sweep. */
  readingsAtSweep: number;
  readonly replicas: Map<ComponentState, Replica>;
}

/** What an instance needs to know of the url or the sender it is read from. */
export interface ScrapeSourceState {
  /** Number of the present reading. */
  reading: number;
  /** A reading may lack series that exist: absence means nothing. */
  readonly partial: boolean;
  /** Why it cannot be read; null while it can. */
  unreachable: string | null;
  /** Its instances that have a component. */
  activeInstances: number;
}

/** As many windows of one component are kept. */
const MOST_WINDOWS = 64;
/** One that nobody has asked for that long is let go. */
const UNUSED_MS = 60_000;

/** Whoever asks for the first time begins a window; undefined when the component has as many as it may. */
export function measure(
  state: ComponentState,
  metric: Windowed,
  ms: number,
  now: number,
): Measurement | undefined {
  const known = state.windows.find(one => one.metric === metric && one.window.ms === ms);
  const found = known ?? startWindow(state, metric, ms, now);
  if (found === undefined) return undefined;
  found.lastUsedAt = now;
  return { sum: windowSum(found.window, now), observedMs: now - found.window.since };
}

function startWindow(
  state: ComponentState,
  metric: Windowed,
  ms: number,
  now: number,
): ComponentWindow | undefined {
  dropUnusedWindows(state, now);
  if (state.windows.length >= MOST_WINDOWS) return undefined;
  const begun = { metric, window: createWindow(ms, now), lastUsedAt: now };
  state.windows.push(begun);
  return begun;
}

export function dropUnusedWindows(state: ComponentState, now: number): void {
  for (let at = state.windows.length - 1; at >= 0; at--)
    if (now - (state.windows[at]?.lastUsedAt ?? 0) >= UNUSED_MS) state.windows.splice(at, 1);
}

/** Adds to every window on the metric. */
export function recordAmount(state: ComponentState, metric: Windowed, amount: number, now: number): void {
  if (amount === 0) return;
  for (const one of state.windows) if (one.metric === metric) addToWindow(one.window, amount, now);
}

/** Adds the increases of a reading, in the order of `COUNTERS`. */
export function recordIncreases(state: ComponentState, increases: readonly number[], now: number): void {
  if (state.windows.length === 0) return;
  COUNTERS.forEach((counter, at) => {
    recordAmount(state, counter, increases[at] ?? 0, now);
  });
}
