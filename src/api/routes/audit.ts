import { listAudit } from '../../resources/audit/list.ts';
import { list } from '../envelope.ts';
import { type Route, route } from '../route.ts';
import { auditShape, wireAudit } from '../wire/audit.ts';

export const auditRoutes: readonly Route[] = [
  route({
    id: 'audit.list',
    isLive: false,
    method: 'GET',
    path: '/audit',
    summary: 'List who did what and what was refused, newest first',
    verb: listAudit,
    answer: list(auditShape, wireAudit),
    example: { query: { action: 'users.update', limit: '10' } },
  }),
];
