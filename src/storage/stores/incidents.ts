import type { Kysely } from 'kysely';
import { countRows } from '../queries.ts';
import type { Database, IncidentState, IncidentTable } from '../tables.ts';
import type { Page, PageRequest, WithoutWorkspace } from '../types.ts';

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

/** The columns of each row but the workspace. `id` comes last where an update names all the others first. */
export const INCIDENT_COLUMNS = [
  'notification',
  'condition',
  'subject',
  'state',
  'seq',
  'opened_at',
  'closed_at',
  'close_reason',
  'severity',
  'text',
  'rule',
  'notified',
  'last_event_at',
  'group_id',
  'inhibited_by',
  'id',
] as const satisfies readonly (keyof IncidentRow)[];

export type IncidentRow = WithoutWorkspace<IncidentTable>;

export interface IncidentStore {
  /** Every open incident; the engine reads them once at start. */
  open(): Promise<readonly IncidentRow[]>;
  get(id: string): Promise<IncidentRow | undefined>;
  /** Newest first. */
  list(
    filter: { state?: IncidentState; notification?: string },
    page: PageRequest,
  ): Promise<Page<IncidentRow>>;
  /** How many are open of each condition; conditions without any are left out. */
  openByCondition(): Promise<readonly { readonly condition: string; readonly count: number }[]>;
}
