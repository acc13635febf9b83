import * as z from 'zod';
import type { AuditRow } from '../../storage/storage.ts';
import { isoTime } from '../envelope.ts';
import type { Shape } from '../shape.ts';

const entry = z.object({
  id: z.string(),
  time: z.iso.datetime(),
  actor: z.string().describe('Name of whoever did it; empty when nobody knows.'),
  action: z.string().describe('The operation, as in `users.update`.'),
  target: z.string().describe('Id or name of what it was done to; empty for none.'),
  result: z.enum(['ok', 'refused']),
  reason: z.string().describe('What was changed, or why it was refused.'),
  address: z.string(),
  requestId: z.string(),
  count: z.int().describe('How often it was refused in the minute before `time`; 1 for what was done.'),
});
export const auditShape: Shape = { name: 'AuditEntry', schema: entry };

export const wireAudit = (row: AuditRow): z.output<typeof entry> => ({
  id: row.id,
  time: isoTime(row.created_at),
  actor: row.actor,
  action: row.action,
  target: row.target,
  result: row.result,
  reason: row.reason,
  address: row.address,
  requestId: row.request_id,
  count: row.count,
});
