import type { Kysely } from 'kysely';
import { idFloor } from '../lib/ids.ts';
import { AUDIT_COLUMNS } from './columns.ts';
import { countOf } from './counting.ts';
import type { AuditFilter, AuditStore } from './storage.ts';
import type { Database } from './tables.ts';

function selectAudit(db: Kysely<Database>, workspace: string, filter: AuditFilter) {
  let matching = db.selectFrom('audit').where('workspace', '=', workspace);
  if (filter.actor !== undefined) matching = matching.where('actor', '=', filter.actor);
  if (filter.action !== undefined) matching = matching.where('action', '=', filter.action);
  if (filter.target !== undefined) matching = matching.where('target', '=', filter.target);
  if (filter.result !== undefined) matching = matching.where('result', '=', filter.result);
  if (filter.since !== undefined) matching = matching.where('id', '>=', idFloor(filter.since));
  if (filter.until !== undefined) matching = matching.where('id', '<', idFloor(filter.until));
  return matching;
}

export const auditStore = (db: Kysely<Database>, workspace: string): AuditStore => ({
  async list(filter, { offset, limit }) {
    const matching = selectAudit(db, workspace, filter);
    const [rows, total] = await Promise.all([
      matching.orderBy('id', 'desc').select(AUDIT_COLUMNS).offset(offset).limit(limit).execute(),
      countOf(matching),
    ]);
    return { rows, total };
  },
});
