import type { IncidentRow } from '../../storage/storage.ts';
import { isoTime } from '../envelope.ts';

export const wireIncident = (row: IncidentRow): object => ({
  id: row.id,
  notification: row.notification,
  condition: row.condition,
  subject: row.subject,
  state: row.state,
  seq: row.seq,
  openedAt: isoTime(row.opened_at),
  ...(row.closed_at !== null && { closedAt: isoTime(row.closed_at) }),
  ...(row.close_reason !== null && { closeReason: row.close_reason }),
  severity: row.severity,
  text: row.text,
});
