import { type ExpressionBuilder, type Kysely, sql } from 'kysely';
import { idFloor } from '../../lib/ids.ts';
import { columnsOf, countRows } from '../queries.ts';
import type { AttemptTable, Database, DeliveryState, DeliveryTable } from '../tables.ts';
import type { Page, PageRequest, WithoutWorkspace } from '../types.ts';

export type DeliveryRow = WithoutWorkspace<DeliveryTable>;
export type AttemptRow = WithoutWorkspace<AttemptTable>;

export const DELIVERY_COLUMNS = columnsOf<DeliveryRow>({
  id: true,
  target: true,
  notification: true,
  subject: true,
  incident_id: true,
  event_id: true,
  seq: true,
  status: true,
  state: true,
  attempts: true,
  next_at: true,
  last_status: true,
  last_error: true,
  created_at: true,
  settled_at: true,
  retried_from: true,
  retried_at: true,
  fallback_for: true,
  batch: true,
  group_id: true,
  inhibited_for: true,
  remainder: true,
});

export const ATTEMPT_COLUMNS = columnsOf<AttemptRow>({
  delivery_id: true,
  number: true,
  started_at: true,
  duration_ms: true,
  outcome: true,
  http_status: true,
  reason: true,
  answer: true,
});

export interface RequeueRange {
  /** Epoch ms. */
  readonly now: number;
  readonly after: string;
  readonly limit: number;
}

export interface DeliveryFilter {
  readonly state?: DeliveryState;
  readonly target?: string;
  readonly notification?: string;
  readonly incident?: string;
  /** Epoch ms: made then or later. */
  readonly since?: number;
  /** Epoch ms: made before. */
  readonly until?: number;
}

/** The targets that got the firing events of an incident which were meant for one target. */
export interface NotifiedTargets {
  /** True when one has reached the target itself. */
  readonly isNotified: boolean;
  /** Ids of the targets that got one in its place, or are to get it, each once. */
  readonly fallbacks: readonly string[];
}

export interface DeliveryStore {
  get(id: string): Promise<DeliveryRow | undefined>;
  /** Newest first. */
  list(filter: DeliveryFilter, page: PageRequest): Promise<Page<DeliveryRow>>;
  /** The target's waiting deliveries with an id after `after`, oldest first. */
  waiting(target: string, after: string, limit: number): Promise<readonly DeliveryRow[]>;
  /** The resolved ones of them, without those whose alarm waits before them. */
  waitingResolved(target: string, after: string, limit: number): Promise<readonly DeliveryRow[]>;
  /** Waiting deliveries of each target, and since when the oldest waits (epoch ms); targets without any are omitted. */
  waitingByTarget(): Promise<
    readonly { readonly target: string; readonly count: number; readonly oldest: number }[]
  >;
  /** The targets that got alarms of the incident which were meant for the target. */
  notified(incidentId: string, target: string): Promise<NotifiedTargets>;
  /** True when the target has got a later event of the incident than `seq`. */
  isSuperseded(incidentId: string, target: string, seq: number): Promise<boolean>;
  /** Targets that got fallback deliveries of incidents that are open or have deliveries waiting, each once. */
  fallbackTargets(): Promise<readonly string[]>;
  /** The waiting deliveries of a batch, in the order of their ids. */
  inBatch(batch: string): Promise<readonly DeliveryRow[]>;
  attempts(deliveryId: string): Promise<readonly AttemptRow[]>;
}

/** Which deliveries are put back into the queue. */
export interface RequeueFilter extends Omit<DeliveryFilter, 'state'> {
  readonly states: readonly DeliveryState[];
  readonly id?: string;
}

export interface RequeueResult {
  /** Those that wait again, resolutions that were skipped among them. */
  readonly rows: readonly Pick<DeliveryRow, 'id' | 'target'>[];
  /** Deliveries that were left as they are, because their target has got a later event of the incident since. */
  readonly superseded: number;
  /** Where to go on; undefined when all have been looked at. */
  readonly next: string | undefined;
}

export function selectDeliveries(db: Kysely<Database>, workspace: string, filter: DeliveryFilter = {}) {
  let matching = db.selectFrom('deliveries').where('workspace', '=', workspace);
  if (filter.state !== undefined) matching = matching.where('state', '=', filter.state);
  if (filter.target !== undefined) matching = matching.where('target', '=', filter.target);
  if (filter.notification !== undefined) matching = matching.where('notification', '=', filter.notification);
  if (filter.incident !== undefined) matching = matching.where('incident_id', '=', filter.incident);
  if (filter.since !== undefined) matching = matching.where('id', '>=', idFloor(filter.since));
  if (filter.until !== undefined) matching = matching.where('id', '<', idFloor(filter.until));
  return matching;
}

export const deliveryStore = (db: Kysely<Database>, workspace: string): DeliveryStore => ({
  get: id => selectDeliveries(db, workspace).where('id', '=', id).select(DELIVERY_COLUMNS).executeTakeFirst(),
  async list(filter, { offset, limit }) {
    const matching = selectDeliveries(db, workspace, filter);
    const [rows, total] = await Promise.all([
      matching.orderBy('id', 'desc').select(DELIVERY_COLUMNS).offset(offset).limit(limit).execute(),
      countRows(matching),
    ]);
    return { rows, total };
  },
  waiting: (target, after, limit) =>
    selectWaiting(db, workspace, { target })
      .where('id', '>', after)
      .orderBy('id')
      .select(DELIVERY_COLUMNS)
      .limit(limit)
      .execute(),
  waitingResolved: (target, after, limit) =>
    selectWaiting(db, workspace, { target })
      .where('id', '>', after)
      .where('status', '=', 'OK')
      .where(hasNoneWaitingBefore)
      .orderBy('id')
      .select(DELIVERY_COLUMNS)
      .limit(limit)
      .execute(),
  waitingByTarget: () => waitingByTarget(db, workspace),
  notified: (incidentId, target) => notifiedTargets(db, workspace, { incidentId, target }),
  async isSuperseded(incidentId, target, seq) {
    const later = await selectDeliveries(db, workspace, { state: 'sent', target, incident: incidentId })
      .where('seq', '>', seq)
      .select('id')
      .limit(1)
      .executeTakeFirst();
    return later !== undefined;
  },
  fallbackTargets: () => fallbackTargets(db, workspace),
  inBatch: batch =>
    selectWaiting(db, workspace).where('batch', '=', batch).orderBy('id').select(DELIVERY_COLUMNS).execute(),
  attempts: deliveryId =>
    db
      .selectFrom('attempts')
      .where('workspace', '=', workspace)
      .where('delivery_id', '=', deliveryId)
      .orderBy('number')
      .select(ATTEMPT_COLUMNS)
      .execute(),
});

/** The state is written out, because SQLite takes a partial index only for what it can read in the text. */
const selectWaiting = (
  db: Kysely<Database>,
  workspace: string,
  filter: Pick<DeliveryFilter, 'target'> = {},
) => selectDeliveries(db, workspace, filter).where('state', '=', sql.lit('waiting'));

const hasNoneWaitingBefore = (eb: ExpressionBuilder<Database, 'deliveries'>) =>
  eb.not(
    eb.exists(
      eb
        .selectFrom('deliveries as earlier')
        .whereRef('earlier.workspace', '=', 'deliveries.workspace')
        .whereRef('earlier.incident_id', '=', 'deliveries.incident_id')
        .whereRef('earlier.target', '=', 'deliveries.target')
        .whereRef('earlier.seq', '<', 'deliveries.seq')
        .where('earlier.state', '=', 'waiting')
        .select('earlier.id'),
    ),
  );

async function waitingByTarget(
  db: Kysely<Database>,
  workspace: string,
): ReturnType<DeliveryStore['waitingByTarget']> {
  const counted = await selectWaiting(db, workspace)
    .groupBy('target')
    .select(eb => [
      'target',
      eb.fn.countAll<number | string>().as('count'),
      eb.fn.min<string>('id').as('first'),
    ])
    .execute();
  if (counted.length === 0) return [];
  const ids = counted.map(({ first }) => first);
  const firsts = await selectDeliveries(db, workspace)
    .where('id', 'in', ids)
    .select(['id', 'created_at'])
    .execute();
  const createdAt = new Map(firsts.map(row => [row.id, row.created_at]));
  // One that was removed between the two reads was the oldest no more.
  return counted.flatMap(({ target, count, first }) => {
    const oldest = createdAt.get(first);
    return oldest === undefined ? [] : [{ target, count: Number(count), oldest }];
  });
}

async function notifiedTargets(
  db: Kysely<Database>,
  workspace: string,
  { incidentId, target }: { readonly incidentId: string; readonly target: string },
): Promise<NotifiedTargets> {
  const rows = await selectDeliveries(db, workspace, { incident: incidentId })
    .where('status', '=', 'ALARM')
    .where(eb =>
      eb.or([eb.and([eb('target', '=', target), eb('state', '=', 'sent')]), eb('fallback_for', '=', target)]),
    )
    .select('target')
    .distinct()
    .orderBy('target')
    .execute();
  const targets = rows.map(row => row.target);
  return { isNotified: targets.includes(target), fallbacks: targets.filter(other => other !== target) };
}

/** More than '' instead of not null, because SQLite searches an index for a range and walks through one for the other. */
async function fallbackTargets(db: Kysely<Database>, workspace: string): Promise<readonly string[]> {
  const { rows } = await sql<{ target: string }>`
    select distinct r.target from deliveries r where r.workspace = ${workspace} and r.fallback_for > ''
    and (
      coalesce((
        select i.state from incidents i where i.workspace = r.workspace and i.id = r.incident_id), '') = 'open'
      or exists (
        select 1 from deliveries d where d.workspace = r.workspace and d.incident_id = r.incident_id
        and d.state = 'waiting'))`.execute(db);
  return rows.map(row => row.target);
}

type Candidate = { id: string; target: string; incident_id: string; seq: number };

/** As `WorkspaceTransaction.requeue` says. */
export async function requeue(
  db: Kysely<Database>,
  workspace: string,
  { states, id, ...filter }: RequeueFilter,
  { now, after, limit }: RequeueRange,
): Promise<RequeueResult> {
  let matching = selectDeliveries(db, workspace, filter).where('state', 'in', states).where('id', '>', after);
  if (id !== undefined) matching = matching.where('id', '=', id);
  const found = await matching
    .orderBy('id')
    .select(['id', 'target', 'incident_id', 'seq'])
    .select(eb => superseded(eb).as('is_superseded'))
    .limit(limit)
    .execute();
  const again = found.filter(row => Number(row.is_superseded) === 0);
  const rows: Pick<Candidate, 'id' | 'target'>[] = [];
  for (const row of again) rows.push(...(await requeueDelivery(db, workspace, row, now)));
  return {
    rows,
    superseded: found.length - again.length,
    next: found.length < limit ? undefined : found.at(-1)?.id,
  };
}

/** 1 when the target has got a later event of the incident: an alarm that comes after its end would stay for ever. */
const superseded = (eb: ExpressionBuilder<Database, 'deliveries'>) =>
  eb
    .case()
    .when(
      eb.exists(
        eb
          .selectFrom('deliveries as later')
          .whereRef('later.workspace', '=', 'deliveries.workspace')
          .whereRef('later.incident_id', '=', 'deliveries.incident_id')
          .whereRef('later.target', '=', 'deliveries.target')
          .whereRef('later.seq', '>', 'deliveries.seq')
          .where('later.state', '=', 'sent')
          .select('later.id'),
      ),
    )
    .then(1)
    .else(0)
    .end();

/** The delivery, and those of the incident's end that were skipped because it had not arrived. */
function requeueDelivery(
  db: Kysely<Database>,
  workspace: string,
  { id, incident_id, target, seq }: Candidate,
  now: number,
): Promise<Pick<Candidate, 'id' | 'target'>[]> {
  return db
    .updateTable('deliveries')
    .set({
      state: 'waiting',
      next_at: null,
      settled_at: null,
      retried_from: sql<number>`attempts`,
      // Never the same twice, by which a settlement knows what it has not seen yet.
      retried_at: sql<number>`case when retried_at >= ${now} then retried_at + 1 else ${now} end`,
      batch: null,
    })
    .where('workspace', '=', workspace)
    .where('incident_id', '=', incident_id)
    .where('target', '=', target)
    .where(eb => eb.or([eb('id', '=', id), eb.and([eb('seq', '>', seq), eb('state', '=', 'skipped')])]))
    .returning(['id', 'target'])
    .execute();
}

type DeliveryKeys = Pick<
  DeliveryRow,
  'id' | 'target' | 'notification' | 'subject' | 'incident_id' | 'event_id' | 'seq' | 'status' | 'created_at'
>;

/** A delivery that nobody has tried yet; `insteadOf` is the target whose fallback its target is. */
export function newDelivery(keys: DeliveryKeys, fallbackFor: string | null = null): DeliveryRow {
  // Spelled out, as one is made for each event and target: a spread costs as much as everything else in it.
  return {
    id: keys.id,
    target: keys.target,
    notification: keys.notification,
    subject: keys.subject,
    incident_id: keys.incident_id,
    event_id: keys.event_id,
    seq: keys.seq,
    status: keys.status,
    state: 'waiting',
    attempts: 0,
    next_at: null,
    last_status: null,
    last_error: null,
    created_at: keys.created_at,
    settled_at: null,
    retried_from: 0,
    retried_at: null,
    fallback_for: fallbackFor,
    batch: null,
    group_id: null,
    inhibited_for: null,
    remainder: null,
  };
}
