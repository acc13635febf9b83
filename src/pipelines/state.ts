import type { Component } from './component.ts';
import type { Finding } from './health.ts';
import type { Windowed } from './metric.ts';
import type { Window } from './window.ts';

/** A component and how it is. */
export interface Row {
  readonly component: Component;
  /** Since it was first seen, by the order of `COUNTERS`. */
  readonly totals: number[];
  /** Bits of the metrics any series of it told. */
  known: number;
  /** Monotonic ms from which its silence counts; before the process began where a snapshot says so. */
  silentSince: number;
  /** Epoch ms. */
  lastDataAt: number | null;
  /** Epoch ms of the last sign of life. */
  timestamp: number | null;
  /** Monotonic ms of the last sign of life. */
  lifeAt: number;
  replicas: readonly Replica[];
  /** What conditions look back over. */
  readonly windows: RowWindow[];
}

/** A window on a component that somebody asks for. */
export interface RowWindow {
  readonly metric: Windowed;
  readonly window: Window;
  /** Monotonic ms. */
  askedAt: number;
}

/** What a reading brought to a replica, by the place of counters and gauges, until it is settled. */
export interface Tally {
  readonly sums: number[];
  /** NaN of what was not told. */
  readonly gauges: number[];
  /** Changes of levels, scaled. */
  level: number;
  /** A counter started again, so levels of before say nothing. */
  restarted: boolean;
  /** It is compared with a snapshot: volume, but no data. */
  quiet: boolean;
}

/** A component in one instance. */
export interface Replica {
  readonly row: Row;
  readonly instance: Instance;
  /** Slots that lead here; without any the replica is gone. */
  slots: number;
  /** The reading that last named it. */
  page: number;
  /** What `out_events` still owes: it was counted as sent and came back. Never above 0. */
  debt: number;
  /** Gauges as they stand, NaN when unknown. */
  readonly gauges: number[];
  /** What the present reading brought; undefined until it brings something. */
  tally: Tally | undefined;
  finding: Finding | undefined;
  /** Monotonic ms of the last evidence for `finding`. */
  foundAt: number;
  /** Monotonic ms up to which its state has been booked; NaN before the first reading. */
  bookedAt: number;
  /** Monotonic ms of the last good reading; NaN before the first. */
  settledAt: number;
}

/** One process of an engine, as far as one feed tells. */
export interface Instance {
  readonly name: string;
  readonly feed: FeedState;
  /** Good readings that named it since the start. */
  readings: number;
  /** The feed's reading that last named it. */
  page: number;
  /** A push brought a series for the second time: its first round is over, and what is new from here on was born. */
  repeated: boolean;
  /** It is known from a snapshot. */
  restored: boolean;
  /** Monotonic ms of the last sign of life. */
  lifeAt: number;
  /** `readings` at the last sweep. */
  sweptReadings: number;
  readonly replicas: Map<Row, Replica>;
}

/** What an instance needs to know of the url or the sender it is read from. */
export interface FeedState {
  /** Number of the present reading. */
  page: number;
  /** A reading may lack series that exist: absence means nothing. */
  readonly partial: boolean;
  /** Why it cannot be read; null while it can. */
  unreachable: string | null;
  /** Its instances that have a component. */
  active: number;
}
