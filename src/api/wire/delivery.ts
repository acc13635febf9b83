import { withoutInternal } from '../../events/system-fields.ts';
import type { AttemptRow, DeliveryRow, EventRow } from '../../storage/storage.ts';
import { isoTime } from '../envelope.ts';

export const wireDelivery = (row: DeliveryRow): object => ({
  id: row.id,
  target: row.target,
  notification: row.notification,
  subject: row.subject,
  incidentId: row.incident_id,
  eventId: row.event_id,
  status: row.status,
  state: row.state,
  attempts: row.attempts,
  ...(row.next_at !== null && { nextAt: isoTime(row.next_at) }),
  ...(row.last_status !== null && { lastStatus: row.last_status }),
  ...(row.last_error !== null && { lastError: row.last_error }),
  createdAt: isoTime(row.created_at),
  ...(row.settled_at !== null && { settledAt: isoTime(row.settled_at) }),
});

interface DeliveryDetail {
  readonly delivery: DeliveryRow;
  readonly attempts: readonly AttemptRow[];
  readonly event: EventRow | undefined;
}

/** The event as receivers see it, but for the system fields, which each target attaches for itself. */
const outside = (row: EventRow): object => withoutInternal(JSON.parse(row.body));

export const wireDeliveryDetail = (detail: DeliveryDetail): object => ({
  ...wireDelivery(detail.delivery),
  log: detail.attempts.map(attempt => ({
    number: attempt.number,
    startedAt: isoTime(attempt.started_at),
    durationMs: attempt.duration_ms,
    outcome: attempt.outcome,
    ...(attempt.http_status !== null && { status: attempt.http_status }),
    ...(attempt.reason !== null && { reason: attempt.reason }),
    ...(attempt.answer !== null && { answer: attempt.answer }),
  })),
  ...(detail.event && { event: outside(detail.event) }),
});
