import { COUNTERS, WINDOWED, type Windowed } from '../metric.ts';
import type { Component, Measurement } from './component.ts';
import type { HealthFinding } from './health.ts';
import {
  addOverGap,
  addToWindow,
  createWindow,
  type ReadingGap,
  type SlidingWindow,
  windowSum,
} from './windows.ts';

/** A component and its counters, replicas and windows. */
export interface ComponentState {
  readonly component: Component;
  /** Since it was first seen, by the order of `WINDOWED`; times since this process observes it. */
  readonly totals: number[];
  /** By the order of `COUNTERS`, what totals hold of time in which this process did not run; undefined for nothing. */
  unobserved: number[] | undefined;
  /** The last silence of a minute or more that data has ended, and when, in monotonic ms. */
  endedSilence: { readonly ms: number; readonly endedAt: number } | undefined;
  /** Bits of the metrics that any series of it reported. */
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
  /** Sums that conditions look back over. */
  readonly windows: ComponentWindow[];
}

/** A window over a metric of a component, for as long as a condition uses it. */
interface ComponentWindow {
  readonly metric: Windowed;
  readonly window: SlidingWindow;
  /** Monotonic ms. */
  lastUsedAt: number;
}

/** Adds up what a reading brings to a replica, by the place of counters and gauges, until it is committed. */
export interface Accumulator {
  readonly sums: number[];
  /** The same of series that count only where no other does. */
  readonly fallbacks: number[];
  /** NaN of a gauge that was not reported. */
  readonly gauges: number[];
  /** Changes of levels, scaled. */
  level: number;
  /** A counter was reset, so levels of before say nothing. */
  restarted: boolean;
  /** What is to be added to `sums` should its process have begun anew, as a time claims. */
  anew: number[] | undefined;
  /** Some of it is of an interval of its own, which came when it did. */
  hasInterval: boolean;
  /** It is compared with a snapshot: its increases count as volume, but do not end silence. */
  isFromSnapshot: boolean;
}

/** A component in one instance. */
export interface Replica {
  readonly state: ComponentState;
  readonly instance: Instance;
  /** Entries of the series store that belong to it; without any the replica is gone. */
  entryCount: number;
  /** The reading that last named it. */
  lastReading: number;
  /** The reading that was last committed to it. */
  committedReading: number;
  /** Events that were counted in `out_events` and came back, to be taken off. Never above 0. */
  overcount: number;
  /** Bits of the counters, by their place, that a series which is no fallback counts. */
  counted: number;
  /** Gauges as they stand, NaN when unknown. */
  readonly gauges: number[];
  /** Undefined until the present reading brings something. */
  accumulator: Accumulator | undefined;
  finding: HealthFinding | undefined;
  /** Monotonic ms of the last evidence for `finding`. */
  foundAt: number;
  /** Monotonic ms up to which its time has been recorded; NaN before the first reading. */
  recordedAt: number;
  /** Monotonic ms of the last good reading; NaN before the first. */
  committedAt: number;
  /** Ms between two readings as a rule; NaN before the second. */
  usualMs: number;
}

/** The clock of a sender as pushes show it that are dated before what is known. */
export interface SenderClock {
  readonly time: number;
  /** Our own monotonic ms at which that time came, and the number of the instance's reading. */
  readonly monotonic: number;
  readonly reading: number;
  /** A second push kept pace with the first: this is the sender's clock now. */
  readonly isConfirmed: boolean;
}

/** How a counter of an instance fell and came back to where it was. */
export interface Alternation {
  /** The entry of the series store that is followed. */
  readonly entry: number;
  /** Where it was before it last fell, and before it last came back; NaN before it did. */
  readonly upper: number;
  readonly lower: number;
  /** Falls and returns in a row. */
  readonly moves: number;
  /** The instance's reading with the last of them. */
  readonly movedAt: number;
  /** The instance's readings of the latest falls that a restart would not explain at once, to a value above 0. */
  readonly falls: readonly number[];
}

/**
 * What a reading shows that counts too little, or may. `several processes`: its counters show them, and nothing of them
 * counts. `start without restart`: a page shows a new start of its process, and its counters go on. `increase rejected`: an
 * increase that was pushed is of a time that was counted, or may have been.
 */
export type UncountedKind = 'several processes' | 'start without restart' | 'increase rejected';

/** The starts that the pages of an address have shown, in epoch ms, the latest last. */
export interface StartHistory {
  readonly starts: readonly number[];
  /** The latest is one of a process that was seen before the one of the page before. */
  readonly returned: boolean;
}

/** One process of an engine, as one source shows it. */
export interface Instance {
  readonly name: string;
  readonly source: ScrapeSourceState;
  /** Good readings that named it since the start. */
  readings: number;
  /** The source's reading that last named it. */
  lastReading: number;
  /** A push brought a series for the second time: its first round is over, and a series that is new from here on began in between. */
  repeated: boolean;
  /** It is known from a snapshot. */
  restored: boolean;
  /** How its counters moved in the present reading. */
  fell: boolean;
  wentOn: boolean;
  /** Known once one of its counters fell. */
  alternation: Alternation | undefined;
  /** Known once a push was dated before what was known. */
  senderClock: SenderClock | undefined;
  /** Monotonic ms of the last sign of life. */
  lastSeenAt: number;
  /** `readings` at the last sweep. */
  readingsAtSweep: number;
  readonly replicas: Map<ComponentState, Replica>;
}

/** The part of a scrape source that its instances need. */
export interface ScrapeSourceState {
  /** The name of its own instance. */
  readonly name: string;
  /** Number of the present reading. */
  reading: number;
  /** Epoch ms at which the present reading began. */
  begunAt: number;
  /** The same in monotonic ms. */
  begunMonotonic: number;
  /** How long this process had not run so far then. */
  unobservedMs: number;
  /** Monotonic ms of the first reading after it had not run for a while. */
  ownGapEndedAt: number;
  /** Replicas the present reading has named. */
  touched: Replica[];
  /** Commits the last reading to a replica before it is read or dropped; undefined when all of it is committed. */
  settle: ((replica: Replica) => void) | undefined;
  /** A reading may lack series that exist: absence means nothing. */
  readonly partial: boolean;
  /** The process began anew since the last reading: its numbers prove it, or a time of it claims it. */
  restart: 'none' | 'claimed' | 'proven';
  /** Undefined before the first page that showed the start of its process. */
  starts: StartHistory | undefined;
  /** Takes what readings of an instance leave uncounted. */
  readonly noted: (finding: UncountedKind, instance: string) => void;
  /** Why it cannot be read; null while it can. */
  unreachable: string | null;
  /** How often in a row it could not be read. */
  failedReadings: number;
  /** Monotonic ms at which it last could not be read: what lies before counts as neither Red nor blocked. NaN before. */
  failedAt: number;
  /** The last reading that was good; one that is under way has not shown everything yet. */
  finishedReading: number;
  /** The last reading of which nothing was unreadable: what it lacks is gone. */
  wholeReading: number;
  /** Monotonic ms of the last good reading; before the first of the first. */
  knownAt: number;
  /** Its instances that have a component. */
  activeInstances: number;
}

/** Windows that one component may have. */
const MOST_WINDOWS = 64;
/** A window that was not used for that long is dropped. */
const UNUSED_MS = 60_000;

/** The sum over the last `ms`. The first call begins a window; undefined when the component has as many as it may. */
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

/** Silences that are shorter follow from the minutes of history. */
const RECORDED_SILENCE_MS = 60_000;

/** Data came. */
export function endSilence(state: ComponentState, now: number): void {
  const ms = now - state.silentSince;
  if (ms >= RECORDED_SILENCE_MS) state.endedSilence = { ms, endedAt: now };
  state.silentSince = now;
}

/** Notes increases, in the order of `COUNTERS`, that are in totals and in no window. */
export function recordUnobserved(state: ComponentState, increases: readonly number[]): void {
  if (!increases.some(amount => amount > 0)) return;
  state.unobserved = COUNTERS.map((_, at) => (state.unobserved?.[at] ?? 0) + (increases[at] ?? 0));
}

export const RED_AT = WINDOWED.indexOf('red_ms');
export const BLOCKED_AT = WINDOWED.indexOf('blocked_ms');

/** Adds a time, in ms, to its total and to every window on it. */
export function recordMs(
  state: ComponentState,
  metric: 'red_ms' | 'blocked_ms',
  ms: number,
  now: number,
): void {
  if (ms === 0) return;
  const at = metric === 'red_ms' ? RED_AT : BLOCKED_AT;
  state.totals[at] = (state.totals[at] ?? 0) + ms;
  recordAmount(state, metric, ms, now);
}

/** Adds to every window on the metric. */
function recordAmount(state: ComponentState, metric: Windowed, amount: number, now: number): void {
  if (amount === 0) return;
  for (const one of state.windows) if (one.metric === metric) addToWindow(one.window, amount, now);
}

/** Adds the increases of a reading, in the order of `COUNTERS`; with a gap before it they are spread over that. */
export function recordIncreases(
  state: ComponentState,
  increases: readonly number[],
  now: number,
  gap: ReadingGap | undefined,
): void {
  if (state.windows.length === 0) return;
  COUNTERS.forEach((counter, at) => {
    const amount = increases[at] ?? 0;
    if (gap === undefined) recordAmount(state, counter, amount, now);
    else if (amount !== 0)
      for (const one of state.windows) if (one.metric === counter) addOverGap(one.window, amount, gap);
  });
}
