import type { DeliveryRow } from './storage.ts';

type Facts = Pick<
  DeliveryRow,
  'id' | 'target' | 'notification' | 'subject' | 'incident_id' | 'event_id' | 'seq' | 'status' | 'created_at'
>;

/** A delivery that nobody has tried yet; `insteadOf` is the target whose fallback its target is. */
export function freshDelivery(facts: Facts, insteadOf: string | null = null): DeliveryRow {
  // Spelled out, as one is made for each event and target: a spread costs as much as everything else in it.
  return {
    id: facts.id,
    target: facts.target,
    notification: facts.notification,
    subject: facts.subject,
    incident_id: facts.incident_id,
    event_id: facts.event_id,
    seq: facts.seq,
    status: facts.status,
    state: 'waiting',
    attempts: 0,
    next_at: null,
    last_status: null,
    last_error: null,
    created_at: facts.created_at,
    settled_at: null,
    retried_from: 0,
    retried_at: null,
    instead_of: insteadOf,
    batch: null,
    group_id: null,
    held_for: null,
    rest: null,
  };
}
