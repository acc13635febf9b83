import type { ComponentKind, Counter, Metric, Windowed } from '../metric.ts';

/** An input or an output of a pipeline, over all its replicas. */
export interface Component {
  readonly group: string;
  /** Id of the pipeline it belongs to. */
  readonly pipeline: string;
  readonly engine: string;
  readonly kind: ComponentKind;
  /** The engine's own type, or the engine's id where it has none. */
  readonly type: string;
  /** The id the engine uses. */
  readonly engineId: string;
  /** `engineId` as a resource id: `^[a-zA-Z0-9_-]{1,512}$`, unique per kind. */
  readonly id: string;
}

/** `type:id`, as people and the API write it. */
export const componentName = (component: Component): string => `${component.type}:${component.engineId}`;

export type ComponentHealth = 'Green' | 'Yellow' | 'Red' | 'Unknown';

/** Whether a page or a push that was read still names a component; `unknown` while none could be read. */
type Presence = 'present' | 'gone' | 'unknown';

export interface PresenceFinding {
  readonly presence: Presence;
  /** Why it is not present, for people; null when it is. */
  readonly reason: string | null;
}

/** How a component is now. */
export interface ComponentStatus {
  readonly health: ComponentHealth;
  readonly presence: Presence;
  /** Replicas by health. */
  readonly healthCounts: Readonly<Record<ComponentHealth, number>>;
  /** Epoch ms of the last sign of life of any replica; null before the first. */
  readonly timestamp: number | null;
  /** Totals since Headgate first saw the component, gauges as they are now. */
  readonly metrics: Readonly<Record<string, number>>;
  readonly error: string | null;
  readonly replicas: number;
  /** Epoch ms of the last scrape or push that brought new data; null when none was seen. */
  readonly lastDataAt: number | null;
  /** Observed milliseconds without data: time while Headgate was down does not count. */
  readonly silentMs: number;
}

/** The sum of a metric over a stretch of time. */
export interface Measurement {
  readonly sum: number;
  /** How much of the stretch was observed: less than all of it at first. Time while Headgate was down does not count. */
  readonly observedMs: number;
}

/** What a window usually holds at a time of day. */
export interface Usual {
  /** Of the days that count. */
  readonly median: number;
  /** The median of how far they are from that. */
  readonly deviation: number;
  /** How many of the last 28 count: those in which every hour of the window was recorded. */
  readonly days: number;
  /** For how long it stays the same, in ms, where that is known. */
  readonly forMs?: number;
}

/** A stretch of time by its length and the clock on the wall that days are compared by. */
export interface UsualWindow {
  readonly windowMs: number;
  readonly timezone: string;
}

/** What conditions look at and the status does not show, as history records it. */
export interface ObservedFacts {
  /** Observed ms, since this process observes it, that it was Red, and blocked. */
  readonly redMs: number;
  readonly blockedMs: number;
  /** By counter, what totals hold of time in which this process did not run: volume that no window has. */
  readonly unobserved: Readonly<Partial<Record<Counter, number>>>;
  /** The last silence of a minute or more that data has ended, and when, in observed ms. */
  readonly endedSilence: { readonly ms: number; readonly endedAt: number } | undefined;
  /** The same as of the components' own methods. */
  readonly unreadMs: number;
  readonly queueUsage: number | undefined;
}

/** Why something was not counted, or may not have been, as readings last showed it. */
export interface Uncounted {
  readonly reason: string;
  /** Epoch ms. */
  readonly at: number;
}

/** The state of reading a pipeline. */
export interface PipelineState {
  readonly id: string;
  readonly engine: string;
  readonly group: string;
  readonly mode: 'pull' | 'push';
  readonly url: string | null;
  readonly state: 'waiting' | 'reachable' | 'unreachable';
  /** Epoch ms of the last attempt or push. */
  readonly lastAt: number | null;
  /** Epoch ms since when it cannot be read; null while it can. */
  readonly unreachableSince: number | null;
  readonly error: string | null;
  /** What its pages or pushes hold in place of what its engine is known by, and what to check; null while they do not. */
  readonly unrecognised: string | null;
  /** What its counters lack, or may lack; null when nothing of a day. */
  readonly uncounted: Uncounted | null;
  /** How often it was scraped, or how often it pushed, since this process observes it. */
  readonly readings: number;
  /** Observed milliseconds since it was last read, or last pushed; since it is observed when it never was. */
  readonly unreachedMs: number;
  readonly instances: number;
  readonly components: number;
  /** The bytes an event counts as where bytes are not reported; null when that is not configured. */
  readonly bytesPerEvent: number | null;
}

/** Answers questions about components to other rooms. */
export interface Components {
  /** Changes whenever a component appears or goes; lets readers keep what they derived from `all`. */
  readonly revision: number;
  all(): readonly Component[];
  status(component: Component): ComponentStatus;
  /** The cheap part of `status`, called for every component at every evaluation. */
  silentMs(component: Component): number;
  lastDataAt(component: Component): number | null;
  /** Names of the instances that have it, in no order. */
  hosts(component: Component): readonly string[];
  presence(component: Component): PresenceFinding;
  /** For how long, in observed ms, the pages of more than half of its replicas could not be read; 0 when they are. */
  unreadMs(component: Component): number;
  /** True when any series of it reported the metric. */
  hasMetric(component: Component, metric: Metric): boolean;
  /** The sum over the last `ms`; undefined when the component is unknown or has too many windows. */
  measure(component: Component, metric: Windowed, ms: number): Measurement | undefined;
  /** How full its queue is, 0 to 100, the fullest of its replicas; undefined when it reports none. */
  queueUsage(component: Component): number | undefined;
  /** What such a window usually holds at this time of the day; undefined while that is being read. */
  usual(component: Component, metric: Counter, window: UsualWindow): Usual | undefined;
  /** Undefined for a component that is unknown. */
  observed(component: Component): ObservedFacts | undefined;
  pipeline(id: string): PipelineState | undefined;
  pipelines(): readonly PipelineState[];
}
