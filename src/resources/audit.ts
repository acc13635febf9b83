import * as z from 'zod';
import type { AuditRow, AuditStore } from '../storage/stores/audit.ts';
import { defineOrganizationVerb } from './organization-verb.ts';
import { type ListPage, pageQuery, pageRequest, toListPage } from './paging.ts';
import { defineVerb } from './verb.ts';

const text = z.string().max(512).optional();
const time = z.iso.datetime({ offset: true }).optional();

/** The query of an audit. */
const auditQuery = z.object({
  ...pageQuery,
  actor: text.describe('Name of a user.'),
  action: text.describe('An operation, as in `users.update`.'),
  target: text.describe('Id or name of what it was done to.'),
  result: z.enum(['ok', 'refused']).optional(),
  since: time.describe('Then or later.'),
  until: time.describe('Before.'),
});

/** The entries that match the query, newest first. */
async function auditIn(
  store: AuditStore,
  { actor, action, target, result, since, until, ...page }: z.output<typeof auditQuery>,
): Promise<ListPage<AuditRow>> {
  const filter = {
    ...(actor !== undefined && { actor }),
    ...(action !== undefined && { action }),
    ...(target !== undefined && { target }),
    ...(result !== undefined && { result }),
    ...(since !== undefined && { since: Date.parse(since) }),
    ...(until !== undefined && { until: Date.parse(until) }),
  };
  return toListPage(page, await store.list(filter, pageRequest(page)), row => row);
}

/** Who did what and what was refused, newest first. */
export const listAudit = defineVerb({
  permission: 'read:audit',
  input: auditQuery,
  run: ({ context }, query) => auditIn(context.stores.audit, query),
});

/** The audit of an organization as a whole, newest first. */
export const listOrganizationAudit = defineOrganizationVerb({
  permission: 'read:audit',
  input: auditQuery,
  run: ({ context }, query) => auditIn(context.auditLog, query),
});
