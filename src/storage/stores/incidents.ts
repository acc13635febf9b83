import type { Kysely } from 'kysely';
import { columnsOf, countRows } from '../queries.ts';
import type { Database, IncidentState, IncidentTable } from '../tables.ts';
import type { Page, PageRequest, WithoutWorkspace } from '../types.ts';

export type IncidentRow = WithoutWorkspace<IncidentTable>;

export const INCIDENT_COLUMNS = columnsOf<IncidentRow>({
  id: true,
  notification: true,
  condition: true,
  subject: true,
  state: true,
  seq: true,
  opened_at: true,
  closed_at: true,
  close_reason: true,
  severity: true,
  text: true,
  rule: true,
  notified: true,
  last_event_at: true,
  group_id: true,
  inhibited_by: true,
  reported_state: true,
  unmet_since: true,
  flapping_changes: true,
  last_changes: true,
});

export interface IncidentStore {
  /** Every open incident; the engine reads them once at start. */
  open(): Promise<readonly IncidentRow[]>;
  get(id: string): Promise<IncidentRow | undefined>;
  /** Newest first. */
  list(
    filter: { state?: IncidentState; notification?: string },
    page: PageRequest,
  ): Promise<Page<IncidentRow>>;
  /** Open incidents of each condition; conditions without any are omitted. */
  openByCondition(): Promise<readonly { readonly condition: string; readonly count: number }[]>;
}

export function incidentStore(db: Kysely<Database>, workspace: string): IncidentStore {
  const all = () => db.selectFrom('incidents').where('workspace', '=', workspace);

  return {
    open: () => all().where('state', '=', 'open').orderBy('id').select(INCIDENT_COLUMNS).execute(),
    get: id => all().where('id', '=', id).select(INCIDENT_COLUMNS).executeTakeFirst(),
    async list({ state, notification }, { offset, limit }) {
      let matching = all();
      if (state !== undefined) matching = matching.where('state', '=', state);
      if (notification !== undefined) matching = matching.where('notification', '=', notification);
      const [rows, total] = await Promise.all([
        matching.orderBy('id', 'desc').select(INCIDENT_COLUMNS).offset(offset).limit(limit).execute(),
        countRows(matching),
      ]);
      return { rows, total };
    },
    async openByCondition() {
      const counted = await all()
        .where('state', '=', 'open')
        .groupBy('condition')
        .select(eb => ['condition', eb.fn.countAll<number | string>().as('count')])
        .execute();
      return counted.map(({ condition, count }) => ({ condition, count: Number(count) }));
    },
  };
}
