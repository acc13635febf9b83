import type { Kysely } from 'kysely';
import { AppError } from '../../lib/errors.ts';
import { columnsOf, countRows } from '../queries.ts';
import type { Database, EventTable } from '../tables.ts';
import type { Page, PageRequest, WithoutWorkspace } from '../types.ts';

export type EventRow = WithoutWorkspace<EventTable>;

export const EVENT_COLUMNS = columnsOf<EventRow>({
  id: true,
  incident_id: true,
  body: true,
  created_at: true,
});

export interface EventStore {
  get(id: string): Promise<EventRow | undefined>;
  /** In the order of their ids; unknown ids are omitted. At most 500 ids a call. */
  byIds(ids: readonly string[]): Promise<readonly EventRow[]>;
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
      if (ids.length > MAX_IDS) {
        throw new AppError(
          'invalid-request',
          `${ids.length} event ids were requested; at most ${MAX_IDS} are allowed`,
        );
      }
      if (ids.length === 0) return [];
      return all().where('id', 'in', ids).orderBy('id').execute();
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
