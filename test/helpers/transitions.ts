import type { HeadgateEvent } from '../../src/events/event.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { monotonicIds } from '../../src/lib/ids.ts';
import type { TransitionOperation } from '../../src/storage/operations/transition.ts';
import { type DeliveryRow, newDelivery } from '../../src/storage/stores/deliveries.ts';
import type { IncidentRow } from '../../src/storage/stores/incidents.ts';

const ids = monotonicIds(systemClock);

interface Wanted {
  readonly notification?: string;
  readonly subject?: string;
  readonly targets?: readonly string[];
  readonly now?: number;
}

export interface MadeTransition {
  readonly operation: TransitionOperation;
  readonly event: HeadgateEvent;
}

/** An operation that opens an incident, with a delivery for each target. */
export function opening(wanted: Wanted = {}): MadeTransition {
  const { notification = 'silent', subject = 'edge/syslog:app', now = 1_700_000_000_000 } = wanted;
  const incident: IncidentRow = {
    id: ids.next(),
    notification,
    condition: 'no-data',
    subject,
    state: 'open',
    seq: 1,
    opened_at: now,
    closed_at: null,
    close_reason: null,
    severity: 'warn',
    text: `Source ${subject} had no data for 60s`,
    rule: 'fingerprint',
    notified: JSON.stringify(wanted.targets ?? ['hook']),
    last_event_at: now,
    group_id: null,
    escalated_at: null,
    inhibited_by: null,
    reported_state: null,
    unmet_since: null,
    flapping_changes: null,
    last_changes: null,
    reminders: 0,
  };
  return made(incident, 'ALARM', wanted.targets ?? ['hook'], now);
}

/** The operation that tells once more what `opening` opened. */
export function repeating(opened: MadeTransition, now = 1_700_000_030_000): MadeTransition {
  const { incident, deliveries } = opened.operation;
  const repeated = { ...incident, seq: incident.seq + 1, last_event_at: now };
  return made(
    repeated,
    'ALARM',
    deliveries.map(delivery => delivery.target),
    now,
  );
}

/** The operation that closes what `opening` opened. */
export function closing(opened: MadeTransition, now = 1_700_000_060_000): MadeTransition {
  const { incident, deliveries } = opened.operation;
  const closed: IncidentRow = {
    ...incident,
    state: 'closed',
    seq: incident.seq + 1,
    closed_at: now,
    close_reason: 'resolved',
    text: 'Source is receiving data again',
    last_event_at: now,
  };
  return made(
    closed,
    'OK',
    deliveries.map(delivery => delivery.target),
    now,
  );
}

function made(
  incident: IncidentRow,
  status: 'ALARM' | 'OK',
  targets: readonly string[],
  now: number,
): MadeTransition {
  const event: HeadgateEvent = {
    id: ids.next(),
    status,
    condition: incident.condition,
    cribl_notification: incident.notification,
    incidentId: incident.id,
    severity: 'warn',
    _raw: incident.text,
    _time: now / 1000,
    starttime: now / 1000 - 60,
    endtime: now / 1000,
    __pipeline: 'edge',
  };
  return {
    event,
    operation: {
      kind: 'transition',
      workspace: 'default',
      expectedSeq: incident.seq - 1,
      incident,
      event: { id: event.id, incident_id: incident.id, body: JSON.stringify(event), created_at: now },
      deliveries: targets.map(target => delivery(target, incident, event, now)),
      message: {
        id: incident.notification,
        severity: 'warn',
        title: 'Notification',
        text: incident.text,
        time: now,
        group_name: null,
        metadata: null,
      },
    },
  };
}

function delivery(target: string, incident: IncidentRow, event: HeadgateEvent, now: number): DeliveryRow {
  return newDelivery({
    id: ids.next(),
    target,
    notification: incident.notification,
    subject: incident.subject,
    incident_id: incident.id,
    event_id: event.id,
    seq: incident.seq,
    status: event.status,
    created_at: now,
  });
}
