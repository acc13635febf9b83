import * as z from 'zod';
import type { IncidentRow } from '../../storage/storage.ts';
import { isoTime } from '../envelope.ts';
import type { Shape } from '../shape.ts';

const incident = z.object({
  id: z.string(),
  notification: z.string(),
  condition: z.string(),
  subject: z.string().describe('What it is about, such as an input.'),
  state: z.enum(['open', 'closed']),
  seq: z.int().min(1).describe('Grows with each change.'),
  openedAt: z.iso.datetime(),
  closedAt: z.iso.datetime().optional(),
  closeReason: z.string().optional().describe('Why it was closed without its condition having ended.'),
  severity: z.string(),
  text: z.string().describe('What people were told last.'),
  heldBy: z
    .string()
    .optional()
    .describe(
      'The incident on its pipeline whose targets were told nothing of this one as long as it was open.',
    ),
});
export const incidentShape: Shape = { name: 'Incident', schema: incident };

export const wireIncident = (row: IncidentRow): z.output<typeof incident> => ({
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
  ...(row.held_by !== null && { heldBy: row.held_by }),
});
