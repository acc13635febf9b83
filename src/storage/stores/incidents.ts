import type { Kysely } from 'kysely';
import { columnsOf, countRows } from '../queries.ts';
import type { Database, IncidentState, IncidentTable } from '../tables.ts';
import type { Page, PageRequest, WithoutWorkspace } from '../types.ts';
import { silencedBy } from './silences.ts';

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
  escalated_at: true,
  reminders: true,
  group_id: true,
  inhibited_by: true,
  reported_state: true,
  unmet_since: true,
  flapping_changes: true,
  last_changes: true,
});

/** When an incident was open. */
export type IncidentSpan = Pick<IncidentRow, 'id' | 'condition' | 'subject' | 'opened_at' | 'closed_at'>;

export interface IncidentStore {
  /** Every open incident; the engine reads them once at start. */
  open(): Promise<readonly IncidentRow[]>;
  get(id: string): Promise<IncidentRow | undefined>;
  /** Newest first. */
  list(
    filter: { state?: IncidentState; notification?: string; silence?: string },
    page: PageRequest,
  ): Promise<Page<IncidentRow>>;
  /** At most 50,000 incidents that were open at some time from `from` until before `until` (epoch ms), in no order. */
  openBetween(from: number, until: number): Promise<readonly IncidentSpan[]>;
  /** Open incidents of each condition; conditions without any are omitted. */
  openByCondition(): Promise<readonly { readonly condition: string; readonly count: number }[]>;
}

const MOST_SPANS = 25_000;

export function incidentStore(db: Kysely<Database>, workspace: string): IncidentStore {
  const all = () => db.selectFrom('incidents').where('workspace', '=', workspace);

  return {
    open: () => all().where('state', '=', 'open').orderBy('id').select(INCIDENT_COLUMNS).execute(),
    get: id => all().where('id', '=', id).select(INCIDENT_COLUMNS).executeTakeFirst(),
    async list({ state, notification, silence }, { offset, limit }) {
      let matching = all();
      if (state !== undefined) matching = matching.where('state', '=', state);
      if (notification !== undefined) matching = matching.where('notification', '=', notification);
      if (silence !== undefined) matching = matching.where('id', 'in', silencedBy(db, workspace, silence));
      const [rows, total] = await Promise.all([
        matching.orderBy('id', 'desc').select(INCIDENT_COLUMNS).offset(offset).limit(limit).execute(),
        countRows(matching),
      ]);
      return { rows, total };
    },
    async openBetween(from, until) {
      const spans = all()
        .where('opened_at', '<', until)
        .select(['id', 'condition', 'subject', 'opened_at', 'closed_at'])
        .limit(MOST_SPANS);
      const [open, closed] = await Promise.all([
        spans.where('state', '=', 'open').execute(),
        spans.where('closed_at', 'is not', null).where('closed_at', '>=', from).execute(),
      ]);
      return [...open, ...closed];
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
