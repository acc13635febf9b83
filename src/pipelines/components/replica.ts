import type { RuleGauge } from '../engines/profile.ts';
import type { ComponentState, Instance, Replica } from './state.ts';

export const GAUGE_AT = {
  blocked: 0,
  queue_size: 1,
  queue_capacity: 2,
  up: 3,
  queue_bytes: 4,
  queue_capacity_bytes: 5,
  failing: 6,
} as const satisfies Record<RuleGauge, number>;

export const unknownGauges = (): number[] => new Array<number>(7).fill(Number.NaN);

export function createReplica(state: ComponentState, instance: Instance): Replica {
  const replica: Replica = {
    state,
    instance,
    entryCount: 0,
    lastReading: 0,
    committedReading: 0,
    overcount: 0,
    counted: 0,
    gauges: unknownGauges(),
    accumulator: undefined,
    finding: undefined,
    foundAt: 0,
    recordedAt: Number.NaN,
    committedAt: Number.NaN,
    usualMs: Number.NaN,
  };
  // Most components have one replica, and an array that grows in place reserves memory for many.
  state.replicas = state.replicas.concat(replica);
  if (instance.replicas.size === 0) instance.source.activeInstances++;
  instance.replicas.set(state, replica);
  return replica;
}

export function dropReplica(replica: Replica): void {
  const { state, instance } = replica;
  instance.source.settle?.(replica);
  state.replicas = state.replicas.filter(one => one !== replica);
  instance.replicas.delete(state);
  if (instance.replicas.size === 0) instance.source.activeInstances--;
}

export const gaugeOf = (replica: Replica, gauge: RuleGauge): number =>
  replica.gauges[GAUGE_AT[gauge]] ?? Number.NaN;

/** The queue as size and capacity in one unit: bytes where only those are bounded. NaN when unknown. */
export function queueOf(replica: Replica): { readonly size: number; readonly capacity: number } {
  const capacity = gaugeOf(replica, 'queue_capacity');
  const bytes = gaugeOf(replica, 'queue_capacity_bytes');
  return bytes > 0 && !(capacity > 0)
    ? { size: gaugeOf(replica, 'queue_bytes'), capacity: bytes }
    : { size: gaugeOf(replica, 'queue_size'), capacity };
}
