import type { Kysely } from 'kysely';
import { AppError } from '../../lib/errors.ts';
import { columnsOf, countRows } from '../queries.ts';
import type { Database, EventTable, ReceivedEventTable } from '../tables.ts';
import type { Page, PageRequest, WithoutWorkspace } from '../types.ts';

export type EventRow = WithoutWorkspace<EventTable>;

export const EVENT_COLUMNS = columnsOf<EventRow>({
  id: true,
  incident_id: true,
  body: true,
  created_at: true,
});

export type ReceivedEventRow = WithoutWorkspace<ReceivedEventTable>;

export const RECEIVED_EVENT_COLUMNS = columnsOf<ReceivedEventRow>({ id: true, event: true });

export interface EventStore {
  get(id: string): Promise<EventRow | undefined>;
  /** In the order of their ids; unknown ids are omitted. At most 500 ids a call. */
  byIds(ids: readonly string[]): Promise<readonly EventRow[]>;
  /**
   * Those of these ids that external events had before: `written` with a transition, `received` without. At most 500 ids
   * a call.
   */
  known(
    ids: readonly string[],
  ): Promise<{ readonly written: readonly string[]; readonly received: readonly string[] }>;
  /** The oldest that is left of each of these incidents. At most 500 ids a call. */
  firstOf(incidents: readonly string[]): Promise<readonly EventRow[]>;
  /** Those of an incident, oldest first. */
  ofIncident(incident: string, page: PageRequest): Promise<Page<EventRow>>;
}

const MAX_IDS = 500;

export function eventStore(db: Kysely<Database>, workspace: string): EventStore {
  const inWorkspace = () => db.selectFrom('events').where('workspace', '=', workspace);
  const all = () => inWorkspace().select(EVENT_COLUMNS);

  return {
    get: id => all().where('id', '=', id).executeTakeFirst(),
    async byIds(ids) {
      assertFew(ids);
      if (ids.length === 0) return [];
      return all().where('id', 'in', ids).orderBy('id').execute();
    },
    async known(ids) {
      assertFew(ids);
      if (ids.length === 0) return { written: [], received: [] };
      const [written, received] = await Promise.all([
        inWorkspace().where('id', 'in', ids).select('id').execute(),
        db
          .selectFrom('received_events')
          .where('workspace', '=', workspace)
          .where('event', 'in', ids)
          .select('event')
          .execute(),
      ]);
      return { written: written.map(({ id }) => id), received: received.map(({ event }) => event) };
    },
    async firstOf(incidents) {
      assertFew(incidents, 'incident');
      if (incidents.length === 0) return [];
      // Senders choose ids, so that the smallest need not be the first.
      const ranked = inWorkspace()
        .where('incident_id', 'in', incidents)
        .select('id')
        .select(eb =>
          eb.fn
            .agg<number>('row_number')
            .over(over => over.partitionBy('incident_id').orderBy('created_at').orderBy('id'))
            .as('nth'),
        );
      const first = db.selectFrom(ranked.as('ranked')).where('nth', '=', 1).select('ranked.id');
      return all().where('id', 'in', first).execute();
    },
    async ofIncident(incident, { offset, limit }) {
      const matching = inWorkspace().where('incident_id', '=', incident);
      const [rows, total] = await Promise.all([
        matching.orderBy('id').select(EVENT_COLUMNS).offset(offset).limit(limit).execute(),
        countRows(matching),
      ]);
      return { rows, total };
    },
  };
}

function assertFew(ids: readonly string[], what = 'event'): void {
  if (ids.length <= MAX_IDS) return;
  throw new AppError(
    'invalid-request',
    `${ids.length} ${what} ids were requested; at most ${MAX_IDS} are allowed`,
  );
}
