import type { Clock } from '../../lib/clock.ts';
import { COUNTERS } from '../metric.ts';
import type { ComponentHealth, ComponentStatus, Components } from './component.ts';
import { overallHealth } from './health.ts';
import { type ComponentRegistry, hasMetric } from './registry.ts';
import { gaugeOf, queueOf } from './replica.ts';
import { type ComponentState, measure, type Replica } from './state.ts';

/** A sender that was silent for three of rsyslog's default intervals proves nothing about the present. */
const STALE_PUSH_MS = 15 * 60_000;

/** Answers what other rooms ask about single components. */
export function describeComponents(
  registry: ComponentRegistry,
  clock: Clock,
): Omit<Components, 'revision' | 'pipeline' | 'pipelines'> {
  const silence = (state: ComponentState | undefined): number =>
    state ? clock.monotonic() - state.silentSince : 0;
  return {
    all: () => registry.all(),
    status: component => statusOf(registry.stateOf(component), clock),
    silentMs: component => silence(registry.stateOf(component)),
    lastDataAt: component => registry.stateOf(component)?.lastDataAt ?? null,
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
  };
}

const UNKNOWN: Omit<ComponentStatus, 'silentMs'> = {
  health: 'Unknown',
  healthCounts: { Green: 0, Yellow: 0, Red: 0, Unknown: 0 },
  timestamp: null,
  metrics: {},
  error: null,
  replicas: 0,
  lastDataAt: null,
};

function statusOf(state: ComponentState | undefined, clock: Clock): ComponentStatus {
  if (state === undefined) return { ...UNKNOWN, silentMs: 0 };
  const monotonic = clock.monotonic();
  const healthCounts: Record<ComponentHealth, number> = { Green: 0, Yellow: 0, Red: 0, Unknown: 0 };
  const reasons = new Map<ComponentHealth, string>();
  for (const replica of state.replicas) {
    const { health, reason } = replicaHealth(replica, monotonic);
    healthCounts[health]++;
    if (reason !== undefined && !reasons.has(health)) reasons.set(health, reason);
  }
  const health = overallHealth(healthCounts);
  return {
    health,
    healthCounts,
    timestamp: state.timestamp,
    metrics: metricsOf(state),
    error: health === 'Green' ? null : errorOf(state, healthCounts, reasons),
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

function replicaHealth({ instance, finding }: Replica, monotonic: number): ReplicaHealth {
  const { source } = instance;
  if (source.unreachable !== null)
    return { health: 'Red', reason: `pipeline unreachable: ${source.unreachable}` };
  if (source.partial && monotonic - instance.lastSeenAt >= STALE_PUSH_MS)
    return { health: 'Unknown', reason: `nothing came from ${instance.name} for a while` };
  if (!source.partial && instance.lastReading !== source.reading)
    return { health: 'Unknown', reason: `the last reading lacked ${instance.name}` };
  return finding ?? { health: 'Unknown' };
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
