import * as z from 'zod';
import { listAudit, listOrganizationAudit } from '../../resources/audit.ts';
import type { AuditRow } from '../../storage/stores/audit.ts';
import { isoTime, list } from '../envelope.ts';
import type { Shape } from '../operation.ts';
import { type Route, route } from '../route.ts';
import { organizationOperation } from './organization-operation.ts';

const entrySchema = z.object({
  id: z.string(),
  time: z.iso.datetime(),
  actor: z.string().describe('Name of the actor; empty when unknown.'),
  action: z.string().describe('The operation, as in `users.update`.'),
  target: z.string().describe('Id or name of what it was done to; empty for none.'),
  result: z.enum(['ok', 'refused']),
  reason: z.string().describe('What was changed, or why it was refused.'),
  address: z.string(),
  requestId: z.string(),
  count: z.int().describe('How often it was refused in the minute before `time`; 1 for what was done.'),
});
const auditShape: Shape = { name: 'AuditEntry', schema: entrySchema };

const wireAudit = (row: AuditRow): z.output<typeof entrySchema> => ({
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

const answer = list(auditShape, wireAudit);

export const auditRoutes: readonly Route[] = [
  route({
    id: 'audit.list',
    isLive: false,
    method: 'GET',
    path: '/audit',
    summary: 'List who did what and what was refused, newest first',
    verb: listAudit,
    answer,
    example: { query: { action: 'users.update', limit: '10' } },
  }),
];

export const auditOperations = [
  organizationOperation({
    id: 'audit.list',
    method: 'GET',
    path: '/audit',
    status: 200,
    verb: listOrganizationAudit,
    answer: page => answer.make(page),
  }),
] as const;
