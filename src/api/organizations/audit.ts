import { auditIn, auditQuery } from '../../resources/audit/list.ts';
import { list } from '../envelope.ts';
import { auditShape, wireAudit } from '../wire/audit.ts';
import { type ManagementOperation, operation } from './operation.ts';

const answer = list(auditShape, wireAudit);

export const auditOperations: readonly ManagementOperation[] = [
  operation(
    { id: 'audit.list', method: 'GET', path: '/audit', status: 200 },
    async ({ manager, organizations, query }) =>
      answer.make(await auditIn(organizations.auditOf(manager.organization), auditQuery.parse(query))),
  ),
];
