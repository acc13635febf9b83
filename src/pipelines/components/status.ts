import type { Clock } from '../../lib/clock.ts';
import { COUNTERS } from '../metric.ts';
import type {
  ComponentHealth,
  ComponentStatus,
  Components,
  ObservedFacts,
  PresenceFinding,
} from './component.ts';
import { overallHealth } from './health.ts';
import { presenceOf, replicaPresence, unreadMs } from './presence.ts';
import { type ComponentRegistry, hasMetric } from './registry.ts';
import { gaugeOf, queueOf } from './replica.ts';
import { BLOCKED_AT, type ComponentState, measure, RED_AT, type Replica } from './state.ts';

/** The pages and pushes that may name a component of which no replica is left. */
export interface UnreadPages {
  /** Why one that may name it is not known yet; undefined when there is none. */
  whyUnread(state: ComponentState): string | undefined;
  /** For how long none of them could be read, in observed ms; 0 when one was, and where they are pushed. */
  unreadMs(state: ComponentState): number;
}

/** Readings in a row after which a page that cannot be read is no passing fault: as many as a window must see. */
const FAILED_READINGS = 3;

/** Answers what other rooms ask about single components. */
export function describeComponents(
  registry: ComponentRegistry,
  clock: Clock,
  pages: UnreadPages,
): Omit<Components, 'revision' | 'usual' | 'pipeline' | 'pipelines'> {
  const silence = (state: ComponentState | undefined): number =>
    state ? clock.monotonic() - state.silentSince : 0;
  return {
    all: () => registry.all(),
    status: component => statusOf(registry.stateOf(component), clock.monotonic(), pages),
    silentMs: component => silence(registry.stateOf(component)),
    lastDataAt: component => registry.stateOf(component)?.lastDataAt ?? null,
    hosts: component => registry.stateOf(component)?.replicas.map(({ instance }) => instance.name) ?? [],
    presence: component => presenceIn(registry.stateOf(component), clock.monotonic(), pages),
    unreadMs(component) {
      const state = registry.stateOf(component);
      return state === undefined ? 0 : unreadIn(state, clock.monotonic(), pages);
    },
    hasMetric(component, metric) {
      const state = registry.stateOf(component);
      return state !== undefined && hasMetric(state, metric);
    },
    measure(component, metric, ms) {
      const state = registry.stateOf(component);
      return state && measure(state, metric, ms, clock.monotonic());
    },
    queueUsage(component) {
      const state = registry.stateOf(component);
      return state && usageOf(state);
    },
    observed(component) {
      const state = registry.stateOf(component);
      return state && observedIn(state, clock.monotonic(), pages);
    },
  };
}

const unreadIn = (state: ComponentState, monotonic: number, pages: UnreadPages): number =>
  state.replicas.length === 0 ? pages.unreadMs(state) : unreadMs(state, monotonic);

function observedIn(state: ComponentState, monotonic: number, pages: UnreadPages): ObservedFacts {
  const { totals, unobserved = [], endedSilence } = state;
  const amounts = COUNTERS.flatMap((counter, at) => {
    const amount = unobserved[at] ?? 0;
    return amount > 0 ? [[counter, amount] as const] : [];
  });
  return {
    redMs: totals[RED_AT] ?? 0,
    blockedMs: totals[BLOCKED_AT] ?? 0,
    unobserved: Object.fromEntries(amounts),
    endedSilence,
    unreadMs: unreadIn(state, monotonic, pages),
    queueUsage: usageOf(state),
  };
}

const presenceIn = (
  state: ComponentState | undefined,
  monotonic: number,
  pages: UnreadPages,
): PresenceFinding => presenceOf(state, monotonic, one => pages.whyUnread(one));

const UNKNOWN: Omit<ComponentStatus, 'silentMs'> = {
  health: 'Unknown',
  presence: 'unknown',
  healthCounts: { Green: 0, Yellow: 0, Red: 0, Unknown: 0 },
  timestamp: null,
  metrics: {},
  error: null,
  replicas: 0,
  lastDataAt: null,
};

function statusOf(state: ComponentState | undefined, monotonic: number, pages: UnreadPages): ComponentStatus {
  if (state === undefined) return { ...UNKNOWN, silentMs: 0 };
  const healthCounts: Record<ComponentHealth, number> = { Green: 0, Yellow: 0, Red: 0, Unknown: 0 };
  const reasons = new Map<ComponentHealth, string>();
  for (const replica of state.replicas) {
    const { health, reason } = replicaHealth(replica, monotonic);
    healthCounts[health]++;
    if (reason !== undefined && !reasons.has(health)) reasons.set(health, reason);
  }
  const health = overallHealth(healthCounts);
  const { presence, reason } = presenceIn(state, monotonic, pages);
  return {
    health,
    presence,
    healthCounts,
    timestamp: state.timestamp,
    metrics: metricsOf(state),
    error: health === 'Green' ? null : (errorOf(state, healthCounts, reasons) ?? reason),
    replicas: state.replicas.length,
    lastDataAt: state.lastDataAt,
    silentMs: monotonic - state.silentSince,
  };
}

function usageOf({ replicas }: ComponentState): number | undefined {
  let most: number | undefined;
  for (const replica of replicas) {
    const { size, capacity } = queueOf(replica);
    if (capacity > 0 && size >= 0) most = Math.max(most ?? 0, (size / capacity) * 100);
  }
  return most;
}

interface ReplicaHealth {
  readonly health: ComponentHealth;
  readonly reason?: string;
}

function replicaHealth(replica: Replica, monotonic: number): ReplicaHealth {
  const { reason } = replicaPresence(replica, monotonic);
  if (reason === null) return replica.finding ?? { health: 'Unknown' };
  const { failedReadings } = replica.instance.source;
  return { health: failedReadings >= FAILED_READINGS ? 'Red' : 'Unknown', reason };
}

function errorOf(
  state: ComponentState,
  counts: Readonly<Record<ComponentHealth, number>>,
  reasons: ReadonlyMap<ComponentHealth, string>,
): string | null {
  for (const health of ['Red', 'Yellow', 'Unknown'] as const) {
    const reason = reasons.get(health);
    if (reason === undefined) continue;
    return state.replicas.length === 1
      ? reason
      : `${counts[health]} of ${state.replicas.length} replicas: ${reason}`;
  }
  return null;
}

/** Only metrics that some series reported: a missing metric is not 0. */
function metricsOf(state: ComponentState): Record<string, number> {
  const metrics: Record<string, number> = {};
  COUNTERS.forEach((counter, at) => {
    if (hasMetric(state, counter)) metrics[counter] = state.totals[at] ?? 0;
  });
  let blocked = Number.NaN;
  let size = Number.NaN;
  let capacity = Number.NaN;
  let up = Number.NaN;
  for (const replica of state.replicas) {
    const queue = queueOf(replica);
    blocked = combined(blocked, gaugeOf(replica, 'blocked'), Math.max);
    size = combined(size, queue.size, sum);
    capacity = combined(capacity, queue.capacity, sum);
    up = combined(up, gaugeOf(replica, 'up'), Math.min);
  }
  if (!Number.isNaN(blocked)) metrics.blocked = blocked;
  if (!Number.isNaN(size)) metrics.queue_size = size;
  if (!Number.isNaN(capacity)) metrics.queue_capacity = capacity;
  if (!Number.isNaN(up)) metrics.up = up;
  return metrics;
}

const sum = (one: number, other: number): number => one + other;

/** NaN is a value that was not reported. */
function combined(
  known: number,
  reported: number,
  join: (known: number, reported: number) => number,
): number {
  if (Number.isNaN(reported)) return known;
  return Number.isNaN(known) ? reported : join(known, reported);
}
