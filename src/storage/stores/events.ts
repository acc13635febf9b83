import { type CompiledQuery, type Kysely, sql } from 'kysely';
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
      const query = knownQuery(db, ids.length);
      const parameters = [workspace, ...ids, workspace, ...ids];
      const { rows } = await db.executeQuery<KnownRow>({ ...query, parameters });
      const [written, received] = [1, 0].map(kind => rows.filter(row => row.is_written === kind));
      return { written: idsOf(written), received: idsOf(received) };
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

interface KnownRow {
  readonly id: string;
  /** 1 for an event, 0 for an id that was received without one. */
  readonly is_written: number;
}

const idsOf = (rows: readonly KnownRow[] = []): readonly string[] => rows.map(({ id }) => id);

/** By the number of ids: senders ask with each request, and to make the text takes longer than to read the rows. */
const knownQueries = new WeakMap<Kysely<Database>, Map<number, CompiledQuery<KnownRow>>>();
const MAX_KNOWN_QUERIES = 100;

/** Its parameters are the workspace and the ids, twice. */
function knownQuery(db: Kysely<Database>, count: number): CompiledQuery<KnownRow> {
  const queries = knownQueries.get(db) ?? new Map<number, CompiledQuery<KnownRow>>();
  knownQueries.set(db, queries);
  const present = queries.get(count);
  if (present !== undefined) return present;
  const ids = Array.from({ length: count }, () => '');
  const query = db
    .selectFrom('events')
    .where('workspace', '=', '')
    .where('id', 'in', ids)
    .select(['id', sql<number>`1`.as('is_written')])
    .unionAll(
      db
        .selectFrom('received_events')
        .where('workspace', '=', '')
        .where('event', 'in', ids)
        .select(['event as id', sql<number>`0`.as('is_written')]),
    )
    .compile();
  if (queries.size < MAX_KNOWN_QUERIES) queries.set(count, query);
  return query;
}

function assertFew(ids: readonly string[], what = 'event'): void {
  if (ids.length <= MAX_IDS) return;
  throw new AppError(
    'invalid-request',
    `${ids.length} ${what} ids were requested; at most ${MAX_IDS} are allowed`,
  );
}
