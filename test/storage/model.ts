import type { FlushOperation } from '../../src/storage/operations/flush.ts';
import type { StorageOperation } from '../../src/storage/operations/operation.ts';
import type { SettleOperation } from '../../src/storage/operations/settle.ts';
import type { TransitionOperation } from '../../src/storage/operations/transition.ts';
import type { AttemptRow, DeliveryRow } from '../../src/storage/stores/deliveries.ts';
import type { EventRow } from '../../src/storage/stores/events.ts';
import type { IncidentRow } from '../../src/storage/stores/incidents.ts';
import type { MessageRow } from '../../src/storage/stores/messages.ts';

/** Storage as one would write it on paper: lists, and every rule a loop over them. */
export interface Model {
  /** True when the operation is accepted; otherwise nothing has changed. */
  apply(operation: StorageOperation): boolean;
  readonly incidents: Map<string, IncidentRow>;
  readonly events: Map<string, EventRow>;
  readonly deliveries: Map<string, DeliveryRow>;
  readonly attempts: AttemptRow[];
  readonly messages: Map<string, MessageRow>;
}

export function createModel(): Model {
  const incidents = new Map<string, IncidentRow>();
  const events = new Map<string, EventRow>();
  const deliveries = new Map<string, DeliveryRow>();
  const attempts: AttemptRow[] = [];
  const messages = new Map<string, MessageRow>();

  function mayChange({ expectedSeq, incident }: TransitionOperation): boolean {
    const present = incidents.get(incident.id);
    if (expectedSeq > 0) return present?.state === 'open' && present.seq === expectedSeq;
    const rival = [...incidents.values()].some(
      other =>
        other.state === 'open' &&
        other.notification === incident.notification &&
        other.subject === incident.subject,
    );
    return present === undefined && !rival;
  }

  function areNew(rows: readonly DeliveryRow[]): boolean {
    const known = [...deliveries.values()];
    return rows.every((row, index) =>
      [...known, ...rows.slice(0, index)].every(
        other =>
          other.id !== row.id &&
          (other.incident_id !== row.incident_id || other.target !== row.target || other.seq !== row.seq),
      ),
    );
  }

  function transition(operation: TransitionOperation): boolean {
    const { incident, event, message } = operation;
    const dropped = (operation.dropped ?? []).map(id => deliveries.get(id));
    if (dropped.some(row => row?.state !== 'grouped')) return false;
    if (!mayChange(operation) || !areNew(operation.deliveries) || events.has(event.id)) return false;
    incidents.set(incident.id, incident);
    events.set(event.id, event);
    for (const row of operation.deliveries) deliveries.set(row.id, row);
    for (const row of dropped)
      if (row !== undefined)
        deliveries.set(row.id, {
          ...row,
          state: 'skipped',
          next_at: null,
          settled_at: incident.last_event_at,
          last_error: 'its incident was over before its group was sent',
        });
    messages.set(message.id, message);
    return true;
  }

  function flush({ group, sends }: FlushOperation): boolean {
    for (const row of deliveries.values())
      if (
        row.state === 'grouped' &&
        row.group_id === group.id &&
        !(sends === 'resolved' && row.status === 'ALARM')
      )
        deliveries.set(row.id, { ...row, state: 'waiting', next_at: null });
    return true;
  }

  function settle(operation: SettleOperation): boolean {
    const row = deliveries.get(operation.deliveryId);
    const { attempt } = operation;
    if (row?.state !== 'waiting') return false;
    const booked = (one: AttemptRow) => one.delivery_id === row.id && one.number === attempt?.number;
    if (attempts.some(booked)) return false;
    if (attempt !== null) attempts.push(attempt);
    deliveries.set(row.id, {
      ...row,
      state: operation.state,
      attempts: operation.attempts,
      unknown_attempts: operation.unknownAttempts,
      retried_from: operation.retriedFrom ?? row.retried_from,
      next_at: operation.nextAt,
      last_status: operation.lastStatus,
      last_error: operation.lastError,
      remainder: operation.remainder ?? null,
      settled_at: operation.settledAt,
      fault: operation.fault,
      batch: operation.batch,
    });
    const { fallbackDeliveries: handOver } = operation;
    for (const other of handOver) if (areNew([other])) deliveries.set(other.id, other);
    return true;
  }

  /** Of deliveries that wait, all or none. */
  function change(deliveryIds: readonly string[], changes: Partial<DeliveryRow>): boolean {
    const rows = deliveryIds.map(id => deliveries.get(id));
    if (rows.some(row => row?.state !== 'waiting')) return false;
    for (const row of rows) if (row !== undefined) deliveries.set(row.id, { ...row, ...changes });
    return true;
  }

  return {
    incidents,
    events,
    deliveries,
    attempts,
    messages,
    apply(operation) {
      switch (operation.kind) {
        case 'settle':
          return settle(operation);
        case 'batch':
          return change(operation.deliveryIds, { batch: operation.batch });
        case 'hurry':
          return change(operation.deliveryIds, { next_at: null });
        case 'flush':
          return flush(operation);
        case 'transition':
          return transition(operation);
        case 'audit':
        case 'receive':
          return true;
      }
    },
  };
}
