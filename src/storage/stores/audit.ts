import type { Kysely } from 'kysely';
import { idFloor } from '../../lib/ids.ts';
import { columnsOf, countRows } from '../queries.ts';
import type { AuditTable, Database } from '../tables.ts';
import type { Page, PageRequest } from '../types.ts';

export type AuditRow = Omit<AuditTable, 'workspace'>;

export const AUDIT_COLUMNS = columnsOf<AuditRow>({
  id: true,
  created_at: true,
  actor: true,
  action: true,
  target: true,
  result: true,
  reason: true,
  address: true,
  request_id: true,
  count: true,
});

export interface AuditFilter {
  readonly actor?: string;
  readonly action?: string;
  readonly target?: string;
  readonly result?: AuditRow['result'];
  /** Epoch ms: then or later. */
  readonly since?: number;
  /** Epoch ms: before. */
  readonly until?: number;
}

/** Rows can be read and added, never changed. */
export interface AuditStore {
  /** Newest first. */
  list(filter: AuditFilter, page: PageRequest): Promise<Page<AuditRow>>;
}

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
      countRows(matching),
    ]);
    return { rows, total };
  },
});
