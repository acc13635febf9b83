import type { Clock } from '../lib/clock.ts';
import type { ComponentStatus, Components, Health } from './component.ts';
import { overall } from './health.ts';
import { COUNTERS } from './metric.ts';
import { gaugeOf, queueOf } from './replica.ts';
import { knows, type Rows } from './rows.ts';
import type { Replica, Row } from './state.ts';
import { measure } from './windows.ts';

/** A sender that was not heard for three of rsyslog's default intervals says nothing of how things are now. */
const STALE_PUSH_MS = 15 * 60_000;

/** What the other rooms may ask about single components. */
export function describeComponents(
  rows: Rows,
  clock: Clock,
): Omit<Components, 'revision' | 'pipeline' | 'pipelines'> {
  const silence = (row: Row | undefined): number => (row ? clock.monotonic() - row.silentSince : 0);
  return {
    all: rows.all,
    status: component => statusOf(rows.of(component), clock),
    silentMs: component => silence(rows.of(component)),
    lastDataAt: component => rows.of(component)?.lastDataAt ?? null,
    knows(component, metric) {
      const row = rows.of(component);
      return row !== undefined && knows(row, metric);
    },
    measure(component, metric, ms) {
      const row = rows.of(component);
      return row && measure(row, metric, ms, clock.monotonic());
    },
    queueUsage(component) {
      const row = rows.of(component);
      return row && usageOf(row);
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

function statusOf(row: Row | undefined, clock: Clock): ComponentStatus {
  if (row === undefined) return { ...UNKNOWN, silentMs: 0 };
  const monotonic = clock.monotonic();
  const healthCounts: Record<Health, number> = { Green: 0, Yellow: 0, Red: 0, Unknown: 0 };
  const reasons = new Map<Health, string>();
  for (const replica of row.replicas) {
    const { health, reason } = replicaHealth(replica, monotonic);
    healthCounts[health]++;
    if (reason !== undefined && !reasons.has(health)) reasons.set(health, reason);
  }
  const health = overall(healthCounts);
  return {
    health,
    healthCounts,
    timestamp: row.timestamp,
    metrics: metricsOf(row),
    error: health === 'Green' ? null : errorOf(row, healthCounts, reasons),
    replicas: row.replicas.length,
    lastDataAt: row.lastDataAt,
    silentMs: monotonic - row.silentSince,
  };
}

function usageOf({ replicas }: Row): number | undefined {
  let most: number | undefined;
  for (const replica of replicas) {
    const { size, capacity } = queueOf(replica);
    if (capacity > 0 && size >= 0) most = Math.max(most ?? 0, (size / capacity) * 100);
  }
  return most;
}

interface Standing {
  readonly health: Health;
  readonly reason?: string;
}

function replicaHealth({ instance, finding }: Replica, monotonic: number): Standing {
  const { feed } = instance;
  if (feed.unreachable !== null)
    return { health: 'Red', reason: `pipeline unreachable: ${feed.unreachable}` };
  if (feed.partial && monotonic - instance.lifeAt >= STALE_PUSH_MS)
    return { health: 'Unknown', reason: `nothing came from ${instance.name} for a while` };
  if (!feed.partial && instance.page !== feed.page)
    return { health: 'Unknown', reason: `the last reading lacked ${instance.name}` };
  return finding ?? { health: 'Unknown' };
}

function errorOf(
  row: Row,
  counts: Readonly<Record<Health, number>>,
  reasons: ReadonlyMap<Health, string>,
): string | null {
  for (const health of ['Red', 'Yellow', 'Unknown'] as const) {
    const reason = reasons.get(health);
    if (reason === undefined) continue;
    return row.replicas.length === 1
      ? reason
      : `${counts[health]} of ${row.replicas.length} replicas: ${reason}`;
  }
  return null;
}

/** Only what some series told: a missing metric is not 0. */
function metricsOf(row: Row): Record<string, number> {
  const metrics: Record<string, number> = {};
  COUNTERS.forEach((counter, at) => {
    if (knows(row, counter)) metrics[counter] = row.totals[at] ?? 0;
  });
  let blocked = Number.NaN;
  let size = Number.NaN;
  let capacity = Number.NaN;
  let up = Number.NaN;
  for (const replica of row.replicas) {
    const queue = queueOf(replica);
    blocked = joined(blocked, gaugeOf(replica, 'blocked'), Math.max);
    size = joined(size, queue.size, sum);
    capacity = joined(capacity, queue.capacity, sum);
    up = joined(up, gaugeOf(replica, 'up'), Math.min);
  }
  if (!Number.isNaN(blocked)) metrics.blocked = blocked;
  if (!Number.isNaN(size)) metrics.queue_size = size;
  if (!Number.isNaN(capacity)) metrics.queue_capacity = capacity;
  if (!Number.isNaN(up)) metrics.up = up;
  return metrics;
}

const sum = (one: number, other: number): number => one + other;

/** NaN is what nobody told. */
function joined(known: number, told: number, join: (known: number, told: number) => number): number {
  if (Number.isNaN(told)) return known;
  return Number.isNaN(known) ? told : join(known, told);
}
